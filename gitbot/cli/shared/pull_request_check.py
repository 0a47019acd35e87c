"""`gitbot check --pull-request`: the trusted run on an open pull request."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from gitbot.cli.shared.options import load_snapshot
from gitbot.cli.shared.planning_input import PlanOptions
from gitbot.cli.shared.published_state import published_rights, published_snapshot
from gitbot.cli.shared.session import pick_cluster, say, stages
from gitbot.cli.shared.standstill_line import say_standstill
from gitbot.errors import UsageError
from gitbot.wiring import SystemClock, find_root

if TYPE_CHECKING:
    from gitbot.ports.clock import Clock
    from gitbot.workflows.ask import Standstill
    from gitbot.workflows.check import CheckResult
    from gitbot.workflows.core.context import RunContext


class FixedClock:
    """A clock that stands still, so that one check has one time throughout."""

    def __init__(self, now: int) -> None:
        self._now = now

    def now(self) -> int:
        return self._now

    def sleep(self, _seconds: int) -> None:
        return


def run_pulls(
    asked: PlanOptions, *, what: str, which: str, publish: bool, human: bool = False
) -> tuple[CheckResult, ...]:
    """Check one open pull request, those at a commit, or a merge group; `publish` writes it there.

    `what` is the option that names it: --pull-request N, --head or --merge-group COMMIT.
    """
    from gitbot.wiring.forges import FORGES  # noqa: PLC0415
    from gitbot.wiring.workspace import open_shell, open_workspace, settings_here  # noqa: PLC0415

    access, root = asked.access, find_root(Path.cwd())
    forge = FORGES[settings_here(root).forge.type]
    if publish and asked.told_now and forge.capabilities.own_clock:
        raise UsageError(
            f"{forge.title} shows comments of the present, but --now plans for another time",
            hint="leave out --now, or --publish",
        )
    with (
        stages("reading the repository") as progress,
        open_workspace(
            root,
            kubeconfig=access.kubeconfig,
            context=access.context,
            clock=clock_of(asked, publish=publish),
        ) as workspace,
    ):
        cluster = pick_cluster(workspace.settings, asked.cluster)
        if asked.published:
            published = published_snapshot(workspace.repository, cluster, now=asked.now)
            may_not = published_rights(workspace.repository, cluster)
            workspace.read_only(cluster, lambda: published, may_not)
        elif access.snapshots:
            given = load_snapshot(access.of(name=cluster), now=asked.now, onlooker=progress)
            workspace.read_only(cluster, lambda: given)
        shell = open_shell(workspace, cluster, onlooker=progress, at_hand=not asked.published)
        progress.begins("reading the forge and the cluster")
        if asked.is_live:
            found = _standstill(shell)
            progress.begins("")  # a whole line may follow
            say_standstill(found, human=human)
        if what == "--merge-group":
            return _group(shell, _commit(what, which), publish=publish)
        is_number = what == "--pull-request"
        numbers = (int(which),) if is_number else _at_head(shell, _commit(what, which))
        return tuple(_one(shell, each, publish=publish) for each in numbers)


def _standstill(shell: RunContext) -> Standstill | None:
    from gitbot.workflows.ask import known_standstill  # noqa: PLC0415
    from gitbot.workflows.ledger.anchor import known_migrations, read_anchor  # noqa: PLC0415

    anchor = read_anchor(shell)
    there, read = known_migrations(shell, anchor), shell.ledger_store.read
    return known_standstill(shell.cluster, SystemClock(), read, anchor, there)


def _one(shell: RunContext, number: int, *, publish: bool) -> CheckResult:
    from gitbot.workflows import check as pulls  # noqa: PLC0415
    from gitbot.workflows.propose import check_proposal  # noqa: PLC0415

    published = pulls.publish(shell, number=number) if publish else None
    pull = published.pull if published is not None else shell.forge.get_pull(number)
    if pulls.shows_own_plan(shell, pull):  # its file is the plan: it adds no intent
        return check_proposal(shell, pull)
    if published is not None:
        return published.check
    return pulls.check_open(shell, pull)


def clock_of(asked: PlanOptions, *, publish: bool) -> Clock:
    """The clock of a check: it stands still, but is the machine's if something is published.

    A person who approves during planning has not seen the plan, so its record carries the second in
    which it was shown. `--now` wins.
    """
    return FixedClock(asked.now) if asked.told_now or not publish else SystemClock()


def _commit(option: str, text: str) -> str:
    if not re.fullmatch(r"[0-9a-f]{40}([0-9a-f]{24})?", text):
        raise UsageError(f"found {option} {text!r}, expected the 40 digits of a commit")
    return text


def _group(shell: RunContext, commit: str, *, publish: bool) -> tuple[CheckResult, ...]:
    """The check of a merge group; none if the queue gave the group up meanwhile.

    A queue builds its groups again if the base moves past them. Nobody would read what was
    published for such a commit, and the run that was to publish it did nothing wrong.
    """
    from gitbot.workflows import check as pulls  # noqa: PLC0415

    if publish and not pulls.on_top(shell, commit):
        shell.onlooker.begins("")
        say(f"{commit[:12]} is no longer on top of {shell.base_branch}: nothing to do", err=True)
        return ()
    judge = pulls.publish_group if publish else pulls.check_group
    return (judge(shell, commit=commit),)


def _at_head(shell: RunContext, head: str) -> tuple[int, ...]:
    """The open pull requests to the base branch with this newest commit; often one or none."""
    from gitbot.ports.forge import PullState  # noqa: PLC0415 - keeps --help quick

    found = tuple(
        pull.number
        for pull in shell.forge.list_pulls(state=PullState.OPEN)
        if pull.head == head and pull.base_branch == shell.base_branch
    )
    if not found:
        shell.onlooker.begins("")
        say(f"no open pull request has {head[:12]} as its newest commit: nothing to do", err=True)
    return found
