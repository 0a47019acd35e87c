"""What `move`, `drain` and their like share: options, and the way from an intent to its pull."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from gitbot.cli.shared.options import ClusterAccess, as_duration, cluster_options, load_snapshot
from gitbot.cli.shared.output import shown
from gitbot.cli.shared.planning_input import same_cluster
from gitbot.cli.shared.published_state import (
    published_instead,
    published_rights,
    published_snapshot,
)
from gitbot.cli.shared.session import colour, pick_cluster, say, stages
from gitbot.errors import NoCluster
from gitbot.wiring import find_root

if TYPE_CHECKING:
    from gitbot.model.cluster.cluster import ClusterSnapshot
    from gitbot.model.plan.findings import Finding
    from gitbot.wiring.workspace import Workspace
    from gitbot.workflows.author import NewIntent
    from gitbot.workflows.check import CheckResult
    from gitbot.workflows.core.context import RunContext

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class Writing:
    """How an intent is written. `name` is "" where the command chooses one."""

    access: ClusterAccess
    cluster: str = ""
    name: str = ""
    note: str = ""
    dry_run: bool = False
    verbose: bool = False


def writing_options(function: F) -> F:
    """--name, --note, --dry-run, --cluster and cluster access; the command gets `writing`."""

    @click.option("--name", metavar="NAME", help="Name of the intent; default: a free one.")
    @click.option("--note", metavar="TEXT", help="Why, in words, for the reviewer.")
    @click.option("--dry-run", is_flag=True, help="Print the file and the plan; write nothing.")
    @click.option("-v", "--verbose", is_flag=True, help="Show the whole plan, not its summary.")
    @click.option("--cluster", metavar="NAME", help="Which cluster of the configuration.")
    @cluster_options
    @functools.wraps(function)
    def gather(**kwargs: Any) -> Any:
        writing = Writing(
            access=kwargs.pop("access"),
            cluster=kwargs.pop("cluster") or "",
            name=kwargs.pop("name") or "",
            note=kwargs.pop("note") or "",
            dry_run=kwargs.pop("dry_run"),
            verbose=kwargs.pop("verbose"),
        )
        return function(writing=writing, **kwargs)

    return cast("F", gather)


def breach_option(function: F) -> F:
    return click.option(
        "--allow-breach",
        metavar="DURATION",
        callback=as_duration,
        help="VMs that a rule keeps together may be apart so long while they move: 10m or PT10M.",
    )(function)


@contextmanager
def author_shell(writing: Writing) -> Iterator[tuple[RunContext, ClusterSnapshot, str]]:
    """The shell of a person, the state of the cluster, and the cluster's time zone ("" for none).

    Commits and pull requests are in the name that Git has for the person.
    """
    from gitbot.wiring.workspace import open_shell, open_workspace  # noqa: PLC0415

    root = find_root(Path.cwd())
    access = writing.access
    with (
        stages("reading the repository") as progress,
        open_workspace(
            root, kubeconfig=access.kubeconfig, context=access.context, as_person=True
        ) as workspace,
    ):
        cluster = pick_cluster(workspace.settings, writing.cluster)
        configured = workspace.settings.cluster(cluster)
        if access.snapshots:
            given = load_snapshot(access.of(name=cluster), now=workspace.clock.now())
            if not writing.cluster:
                same_cluster(given, cluster, configured.context if configured else "")
            workspace.read_only(cluster, lambda: given)
        elif access.published:
            _read_published(workspace, cluster)
        shell = open_shell(workspace, cluster, onlooker=progress)
        progress.begins("reading the cluster")
        try:
            snapshot = shell.cluster.snapshot()
        except NoCluster as error:
            read = partial(_read_published, workspace, cluster)
            snapshot = published_instead(error, read, now=shell.clock.now())
        else:
            if not access.published:  # the check reads the cluster no second time
                workspace.read_only(cluster, lambda: snapshot)
        progress.begins("")
        shell = replace(shell, cluster=workspace.cluster(cluster))
        yield shell, snapshot, (configured and configured.time_zone) or ""


def _read_published(workspace: Workspace, cluster: str) -> ClusterSnapshot:
    """Let everything read the published snapshot and its rights."""
    snapshot = published_snapshot(workspace.repository, cluster, now=workspace.clock.now())
    workspace.read_only(cluster, lambda: snapshot, published_rights(workspace.repository, cluster))
    return snapshot


def write_intent(shell: RunContext, new: NewIntent, writing: Writing) -> int:
    """Check the intent, show its plan, and open its pull request unless this is a dry run.

    Returns the exit code: 1 where the check finds an error or a move that cannot be done. Then
    nothing is written.
    """
    from gitbot.workflows.author import (  # noqa: PLC0415
        asked_already,
        check_new,
        next_step,
        open_already,
        open_beside,
        open_new,
        with_free_name,
    )

    if not writing.dry_run and (pull := open_already(shell, new)) is not None:
        say("nothing was written: a pull request that asks for this is open already")
        say(next_step(shell, pull))
        return 0
    if not writing.dry_run and (file := asked_already(shell, new)):
        say(f"nothing was written: {file} of {shell.base_branch} asks for this already")
        return 0
    if not writing.name:
        new = with_free_name(shell, new)
    result = _at_options(check_new(shell, new), new.path(shell.cluster_name), new.verb)
    shell.onlooker.begins("")
    if writing.dry_run:
        say(f"# {new.path(shell.cluster_name)}")
        click.echo(new.text, nl=False)
    form = "table" if writing.verbose or writing.dry_run else "brief"
    click.echo(shown(_before_merge(result), form, colour=colour()), nl=False)
    if result.fails():
        say("nothing was written: the pull request would be refused for these reasons", err=True)
        return 1
    if new.kind == "MigrationRequest" and _moves_nothing(result):
        say("nothing was written: every VM is where the request wants it")
    elif not writing.dry_run:
        beside = open_beside(shell, new)
        pull = open_new(shell, new)
        say(f"{new.path(shell.cluster_name)} on branch {new.branch}\n{next_step(shell, pull)}")
        for other, names in beside:
            then = f"if this one replaces it: gitbot close {other.number}"
            say(f"pull request #{other.number} is open for {names}, too: {other.title}; {then}")
    return 0


def _moves_nothing(result: CheckResult) -> bool:
    plan = result.judged.plan if result.judged else None
    return plan is not None and plan.does_nothing and not plan.holds


# key path of the file -> what the person typed; the longest one that fits counts
_TYPED = {
    "metadata.name": "--name",
    "metadata.namespace": "-n",
    "spec.namespaces": "-n",
    "spec.note": "--note",
    "spec.reason": "--reason",
    "spec.selector": "-l",
}
_TYPED_BY = {  # the same for what means different options of different commands, by their verb
    "move": {
        "spec.allowBreach": "--allow-breach",
        "spec.deadline": "--before",
        "spec.target": "--to or --zone",
        "spec.target.node": "--to",
        "spec.target.zone": "--zone",
        "spec.vms": "vm/NAME",
        "spec.window": "--window",
    },
    "undo": {"spec.target": "REQUEST", "spec.vms": "REQUEST"},
    "drain": {
        "spec.allowBreach": "--allow-breach",
        "spec.drain": "--rolling",
        "spec.drain.cordon": "--cordon",
        "spec.nodes": "NODE",
        "spec.nodes.selector": "--zone or -l",
        "spec.returnHome": "--return",
        "spec.schedule": "--start",
        "spec.schedule.duration": "--for",
        "spec.schedule.timeZone": "--time-zone",
    },
    "freeze": {"spec.schedule": "--from", "spec.schedule.duration": "--until"},
    "rule": {
        "spec.affinity": "-l",
        "spec.maxPerDomain": "--max",
        "spec.topologyKey": "--zones or --nodes",
    },
}


def _at_options(result: CheckResult, path: str, verb: str) -> CheckResult:
    """Findings about the new file, which is nowhere yet, at the option that was typed."""
    typed = {**_TYPED, **_TYPED_BY[verb]}

    def at_option(finding: Finding) -> Finding:
        fits = [key for key in typed if f"{finding.key_path}.".startswith(f"{key}.")]
        if finding.file != path or not fits:
            return finding
        hint = finding.hint.replace("write drain.cordon: Gitbot", "add --cordon")
        at = typed[max(fits, key=len)]
        return replace(finding, file=at, line=0, column=0, key_path="", hint=hint)

    judged = result.judged
    if judged is not None:
        diff = replace(judged.diff, findings=tuple(map(at_option, judged.diff.findings)))
        judged = replace(judged, diff=diff)
    return replace(result, findings=tuple(map(at_option, result.findings)), judged=judged)


def _before_merge(result: CheckResult) -> CheckResult:
    """Without the hint to render: the working tree does not hold the new intent."""
    if result.judged is None:
        return result
    diff = result.judged.diff
    commands = tuple(command for command in diff.commands if command != "gitbot render")
    return replace(result, judged=replace(result.judged, diff=replace(diff, commands=commands)))
