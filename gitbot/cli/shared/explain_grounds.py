"""What the repository around the working folder says about what is explained."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gitbot.cli.shared.options import ClusterAccess, judged_at, load_snapshot
from gitbot.cli.shared.planning_input import ask_ledger, read_here, same_cluster, working_tree
from gitbot.cli.shared.published_state import published_here, published_instead
from gitbot.cli.shared.session import colour, say
from gitbot.errors import NoCluster, SnapshotError, UsageError
from gitbot.model.progress import NO_PROGRESS, PLANNING, PlanningProgress
from gitbot.wiring import find_root

if TYPE_CHECKING:
    from gitbot.constraints.explanation import Explainer, Explanation
    from gitbot.intents.compile import RequestHistory
    from gitbot.kubernetes.names import NamespacedName
    from gitbot.model.cluster.cluster import ClusterSnapshot
    from gitbot.model.cluster.load import ClusterLoad
    from gitbot.model.ledger.ledger import Ledger
    from gitbot.workflows.check import CheckResult, PlanningInputs, VmVerdict
    from gitbot.workflows.core.revision import Revision


@dataclass(frozen=True, slots=True, kw_only=True)
class RepositoryContext:
    """The cluster, and the intents to judge with; `revision` is None for the cluster alone."""

    snapshot: ClusterSnapshot
    revision: Revision | None = None
    evidence: PlanningInputs | None = None
    ledger: Ledger | None = None

    @property
    def past(self) -> RequestHistory:
        """What the ledger knows; nothing without a repository."""
        from gitbot.intents.compile import NO_PAST  # noqa: PLC0415 - numpy only where used

        return self.evidence.past if self.evidence is not None else NO_PAST

    def load(self, now: int) -> ClusterLoad:
        """The load that is not stale."""
        from gitbot.intents.compile import load_now  # noqa: PLC0415 - numpy only where used

        if self.revision is None:
            return load_now(self.snapshot, None, "", now=now)
        return load_now(self.snapshot, self.revision.settings, self.revision.cluster, now=now)


def grounds_of(
    access: ClusterAccess,
    *,
    now: int,
    at: str = "",
    cluster: str,
    intents: bool,
    must: bool,
    human: bool,
    onlooker: PlanningProgress = NO_PROGRESS,
) -> RepositoryContext:
    """With `intents`, those of the working tree, with the ledger of the forge.

    Without a repository, or with one that has errors or several clusters, the cluster alone;
    UsageError if it `must` have one.
    """
    revision = _revision(cluster, must=must) if intents else None
    if revision is None:
        return RepositoryContext(snapshot=_with_nodes(access, now, onlooker))
    from gitbot.workflows.check import PlanningInputs, evidence_of  # noqa: PLC0415 - planner
    from gitbot.workflows.ledger.request_history import request_history  # noqa: PLC0415

    configured = revision.settings.cluster(revision.cluster)
    context = configured.context if configured else ""
    onlooker.begins("reading the repository")
    ledger = ask_ledger(find_root(Path.cwd()), now=now, human=human, onlooker=onlooker)
    load = configured.load if configured else None
    named = access.of(name=revision.cluster, context=context, load=load)
    snapshot = revision.scheduled(_with_nodes(named, now, onlooker))
    onlooker.begins("")
    if not cluster:
        same_cluster(snapshot, revision.cluster, context)
    instant = judged_at(at, revision.zone, now=now, human=human)
    past = request_history(ledger, revision.cluster)
    evidence = PlanningInputs(snapshot=snapshot, now=instant or now, clock=now, past=past)
    return RepositoryContext(
        snapshot=snapshot,
        revision=revision,
        evidence=evidence_of(evidence, ledger, revision.cluster),
        ledger=ledger,
    )


def _with_nodes(access: ClusterAccess, now: int, onlooker: PlanningProgress) -> ClusterSnapshot:
    """The snapshot. Raises SnapshotError for a dump without nodes: an answer would look clean."""
    try:
        snapshot = load_snapshot(access, now=now, onlooker=onlooker)
    except NoCluster as error:
        if not in_repository():
            raise
        snapshot = published_instead(error, lambda: published_here(access.name, now=now), now=now)
    if not snapshot.of("Node"):
        raise SnapshotError(
            "could not read the nodes: the snapshot has none",
            hint="give the objects of kind Node as well",
        )
    return snapshot


def in_repository() -> bool:
    try:
        find_root(Path.cwd())
    except UsageError:
        return False
    return True


def _revision(cluster: str, *, must: bool) -> Revision | None:
    from gitbot.intents import stops  # noqa: PLC0415 - keeps --help quick

    try:
        root = find_root(Path.cwd())
    except UsageError:
        if must or cluster:
            raise
        return None
    try:
        revision = read_here(root, working_tree(root), cluster)
    except UsageError as error:
        if must or cluster:
            raise
        say(f"the cluster alone is explained: {error}", err=True)
        return None
    if not isinstance(revision, tuple) and not any(map(stops, revision.findings)):
        return revision
    if must:
        raise UsageError("the intents have errors", hint="gitbot lint")
    say("the intents have errors (gitbot lint): the cluster alone is explained", err=True)
    return None


def answering(snapshot: ClusterSnapshot) -> AbstractContextManager[None]:
    """A contradiction inside becomes an error of exit code 1, with a line to report."""
    from gitbot.workflows.core.judged_plan import answering  # noqa: PLC0415 - the planner

    return answering(snapshot)


def judged(
    grounds: RepositoryContext,
    found: Sequence[Explanation],
    explainer: Explainer,
    added: Mapping[str, str],
) -> dict[NamespacedName, VmVerdict]:
    """What the intents say about each VM of the explanations; nothing without intents."""
    if grounds.revision is None or grounds.evidence is None:
        return {}
    from gitbot.workflows.check import judge_vm  # noqa: PLC0415 - the planner only where used

    return {
        item.name: judge_vm(
            grounds.revision,
            grounds.evidence,
            item.name,
            nodes=tuple(node for node in explainer.nodes if node != explainer.runs_on(item)),
            added=added,
        )
        for item in found
        if item.kind != "Pod"
    }


def explain_one(
    grounds: RepositoryContext,
    request: str | None,
    window: str | None,
    *,
    output: str,
    onlooker: PlanningProgress,
) -> int:
    """Print the plan of one request or window alone; 1 if gitbot contradicts itself, else 0."""
    from gitbot.cli.shared.output import shown  # noqa: PLC0415 - keeps --help quick
    from gitbot.workflows.check import check_one  # noqa: PLC0415

    if request and window:
        raise UsageError("give --request or --window, not both")
    if grounds.revision is None or grounds.evidence is None:
        raise UsageError("--request and --window ask about intents", hint="leave out --no-intents")
    onlooker.begins(PLANNING)
    with answering(grounds.snapshot):
        result = check_one(
            grounds.revision, grounds.evidence, request=request or "", window=window or ""
        )
    onlooker.begins("")
    if request and (name := _id_of(request)) in grounds.evidence.past.finished:
        words = f"{name} is finished: it never runs again; next: gitbot status {name}"
        say(words, err=output not in ("table", "wide"))
    at_work = tuple(_nodes_out(grounds, window)) if window else ()
    for words in at_work or _nothing_to_empty(result):
        say(words, err=output not in ("table", "wide"))
    click.echo(shown(result, output, colour=colour()), nl=False)
    return int(bool(result.faults))


def _nothing_to_empty(result: CheckResult) -> Iterator[str]:
    """Why the plan of a drain moves nothing, where nobody would be held."""
    from gitbot.model.plan.problem import EmptyNodes  # noqa: PLC0415 - keeps --help quick
    from gitbot.model.text.wording import first_of  # noqa: PLC0415

    plan = result.judged.plan if result.judged is not None else None
    if result.problem is None or plan is None or plan.holds or plan.moves or plan.faults:
        return
    for goal in result.problem.goals:
        if isinstance(goal, EmptyNodes):
            yield f"nothing to move: no VM is on {first_of(goal.nodes, 3)}"


def _nodes_out(grounds: RepositoryContext, window: str) -> Iterator[str]:
    """The nodes of a window that are out of service now, and how far each is."""
    from gitbot.execution.ledger_folds import BUSY, fold_nodes, occurrences_of  # noqa: PLC0415

    if grounds.revision is None or grounds.ledger is None:
        return
    ledger, cluster = grounds.ledger, grounds.revision.cluster
    for occurrence in occurrences_of(ledger, cluster):
        nodes = fold_nodes(ledger, cluster=cluster, occurrence=occurrence)
        out = any(node.state in BUSY for node in nodes.values())
        if occurrence.window == window and out:
            states = ", ".join(f"{name} is {node.state}" for name, node in nodes.items())
            yield f"window {window} is at work: {states}; next: gitbot status"


def _id_of(request: str) -> str:
    """The ledger id of NAMESPACE/NAME, or of what is one already."""
    from gitbot.kubernetes.names import NamespacedName  # noqa: PLC0415 - keeps --help quick
    from gitbot.model.ledger.request_id import MigrationRequestId, parse_request_id  # noqa: PLC0415

    if isinstance(parse_request_id(request), MigrationRequestId):
        return request
    named = NamespacedName.parse(request)
    return str(MigrationRequestId(namespace=named.namespace, name=named.name))
