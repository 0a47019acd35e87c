"""`gitbot check --pull-request`: the trusted run on an open pull request."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, cast

from gitbot.adapters.files import find_root
from gitbot.cli.checking import Asked, pick_cluster, published_snapshot
from gitbot.cli.options import load_snapshot
from gitbot.cli.running import say
from gitbot.errors import ClusterError, UsageError

if TYPE_CHECKING:
    from gitbot.model.cluster import ClusterSnapshot
    from gitbot.ports.clock import Clock
    from gitbot.ports.cluster import Cluster
    from gitbot.workflows.check import CheckResult
    from gitbot.workflows.shell import Shell


class Moment:
    """A clock that stands: everything that one check says is said of one moment."""

    def __init__(self, now: int) -> None:
        self._now = now

    def now(self) -> int:
        """The moment, in seconds UTC."""
        return self._now

    def sleep(self, seconds: int) -> None:
        """Time does not pass."""
        del seconds


class NoCluster:
    """Stands where a cluster would, when the plan is made on a snapshot."""

    def __getattr__(self, name: str) -> object:
        """Refuse whatever is asked."""
        raise ClusterError(f"no cluster is read here but its snapshot, and {name} was asked for")


def run_pulls(asked: Asked, *, what: str, which: str, publish: bool) -> tuple[CheckResult, ...]:
    """Check one open pull request, those at a commit, or a merge group; `publish` says so there.

    `what` is the option that names it: --pull-request N, --head or --merge-group COMMIT.
    """
    from gitbot.constraints.replay import replay  # noqa: PLC0415 - numpy only where used
    from gitbot.wiring import open_shell, open_workspace, settings_here  # noqa: PLC0415
    from gitbot.workflows import publish as pulls  # noqa: PLC0415

    access, root = asked.access, find_root(Path.cwd())
    if publish and asked.told_now and settings_here(root).forge.type == "github":
        raise UsageError(
            "what is said on GitHub is said now, and --now plans for another moment",
            hint="leave out --now, or --publish",
        )
    with open_workspace(
        root,
        kubeconfig=access.kubeconfig,
        context=access.context,
        clock=clock_of(asked, publish=publish),
    ) as workspace:
        cluster = pick_cluster(workspace.settings, asked.cluster)
        snapshot: ClusterSnapshot | None = None
        if asked.published:
            snapshot = published_snapshot(workspace.repository, cluster, now=asked.now)
        elif access.snapshots:
            snapshot = load_snapshot(access.of(name=cluster), now=asked.now)
        if snapshot is not None:
            workspace.clusters[cluster] = cast("Cluster", NoCluster())
        shell = open_shell(workspace, cluster)
        if what == "--merge-group":
            return _group(shell, _commit(what, which), snapshot, publish=publish)
        is_number = what == "--pull-request"
        numbers = (int(which),) if is_number else _at_head(shell, _commit(what, which))
        if publish:
            return tuple(
                pulls.publish(shell, number=each, replay=replay, snapshot=snapshot).check
                for each in numbers
            )
        ledger = shell.ledger_store.read()
        return tuple(
            pulls.check_pull(
                shell, ledger, shell.forge.get_pull(each), replay=replay, snapshot=snapshot
            )
            for each in numbers
        )


def clock_of(asked: Asked, *, publish: bool) -> Clock:
    """The clock of a check: standing, but the machine's where something is published.

    Who approved while it was being planned did not see it, so what is recorded as shown carries
    the second in which it was. `--now` wins.
    """
    from gitbot.adapters.clock import SystemClock  # noqa: PLC0415 - keeps --help quick

    return Moment(asked.now) if asked.told_now or not publish else SystemClock()


def _commit(option: str, text: str) -> str:
    if not re.fullmatch(r"[0-9a-f]{40}([0-9a-f]{24})?", text):
        raise UsageError(f"found {option} {text!r}, expected the 40 digits of a commit")
    return text


def _group(
    shell: Shell, commit: str, snapshot: ClusterSnapshot | None, *, publish: bool
) -> tuple[CheckResult, ...]:
    """The check of a merge group; none where the queue gave the group up meanwhile.

    A queue builds its groups again when the base moves past them. What was published for such a
    commit would be read by nobody, and the run that was to publish it did nothing wrong.
    """
    from gitbot.constraints.replay import replay  # noqa: PLC0415 - numpy only where used
    from gitbot.workflows import publish as pulls  # noqa: PLC0415

    if publish and not _is_on_top(shell, commit):
        say(f"{commit[:12]} is no longer on top of {shell.base_branch}: nothing to do", err=True)
        return ()
    judge = pulls.publish_group if publish else pulls.check_group
    return (judge(shell, commit=commit, replay=replay, snapshot=snapshot),)


def _is_on_top(shell: Shell, commit: str) -> bool:
    """Whether a commit is there, and holds all that the base branch holds."""
    repository = shell.repository
    base = repository.commit(shell.base_branch).id
    return repository.resolve(commit) is not None and repository.is_ancestor(base, commit)


def _at_head(shell: Shell, head: str) -> tuple[int, ...]:
    """The open pull requests to the base branch whose newest commit this is; often one or none."""
    from gitbot.ports.forge import PullState  # noqa: PLC0415 - keeps --help quick

    found = tuple(
        pull.number
        for pull in shell.forge.list_pulls(state=PullState.OPEN)
        if pull.head == head and pull.base_branch == shell.base_branch
    )
    if not found:
        say(f"no open pull request has {head[:12]} as its newest commit: nothing to do", err=True)
    return found
