"""One occurrence of a MaintenanceWindow to a goal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from gitbot.constraints.moves.instances import Instances
from gitbot.documents import Path
from gitbot.intents.allowed_times import drain_occurrence, drain_time
from gitbot.intents.intent import Intent, IntentSet
from gitbot.intents.intent_findings import error, warning
from gitbot.intents.kinds.kind import CompiledGoals, GoalInputs
from gitbot.intents.kinds.maintenance_window.spec import AUTO, MaintenanceWindowSpec
from gitbot.intents.request_history import NO_PAST, RequestHistory
from gitbot.intents.selected_nodes import chosen_nodes
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.ledger.request_id import UNMERGED, DrainId, OccurrenceId
from gitbot.model.plan.findings import Finding, sort_key
from gitbot.model.plan.problem import ALWAYS, EmptyNodes, Goal, Request
from gitbot.model.text.instants import Interval
from gitbot.model.text.wording import first_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """One occurrence of a window: its id, when its moves may run, when the window is open.

    `ready_by`: its moves begin later than `allowed` does, as its plan says, so that they are done
    at this instant; 0: they may begin when `allowed` does.
    """

    window: str
    id: str
    allowed: Interval
    open: Interval
    ready_by: int = 0

    @property
    def drain(self) -> DrainId:
        return OccurrenceId(window=self.window, id=self.id).drain


def opening_of(
    intents: IntentSet,
    window: str,
    *,
    now: int,
    zone: str | None = None,
    occurrence: str = "",
    commit: str = "",
    past: RequestHistory = NO_PAST,
) -> Opening | None:
    """The occurrence with that id, else the one that is open or comes next.

    `commit` is the commit that merged the window. Its first 12 digits name the occurrence of a
    window without schedule; if it is unknown, the ledger may know one that began with this spec.
    None if the window does not exist, or has no such occurrence.
    """
    known = intents.window(window)
    if known is None:
        return None
    intent, spec = known
    if spec.schedule is None:
        name = occurrence or commit[:12] or past.open_ended(window, intent.spec_digest) or UNMERGED
        return Opening(window=window, id=name, allowed=ALWAYS[0], open=ALWAYS[0])
    found = drain_occurrence(spec, zone=zone, now=now, occurrence=occurrence)
    if found is None:
        return None
    opening = Opening(
        window=window, id=found.id, allowed=drain_time(spec, found), open=found.interval
    )
    if spec.drain.lead != AUTO:
        return opening
    begins = past.begins.get(opening.drain, 0)
    if begins:  # an approved plan has decided it, and no later one changes it
        return replace(opening, allowed=Interval(start=begins, end=found.end))
    return replace(opening, ready_by=found.start)


def compile_drain(
    intents: IntentSet,
    snapshot: ClusterSnapshot | Instances,
    *,
    window: str,
    now: int,
    zone: str | None = None,
    occurrence: str = "",
    commit: str = "",
    past: RequestHistory = NO_PAST,
) -> tuple[EmptyNodes | None, tuple[Finding, ...]]:
    """The goal of draining one occurrence of a window; None if there is nothing to drain.

    Nodes that this occurrence has given back are left out, unless all leave together. Without
    `occurrence`, the one that is open or comes next is used; see `opening_of`.
    """
    instances = snapshot if isinstance(snapshot, Instances) else Instances.of(snapshot)
    known = intents.window(window)
    if known is None:
        return None, ()
    intent, spec = known
    opening = opening_of(
        intents, window, now=now, zone=zone, occurrence=occurrence, commit=commit, past=past
    )
    if opening is None:
        message = "the window never opens again" if not occurrence else f"no {occurrence} in it"
        return None, (warning(intent, ("spec", "schedule"), "never-open", message),)
    if spec.nodes is None:
        return None, ()
    nodes, findings = chosen_nodes(intent, spec.nodes, instances)
    back = () if spec.drain.together else past.returned.get(opening.drain, ())
    over = opening.drain in past.finished
    todo = () if over else tuple(node for node in nodes if node not in back)
    empty = tuple(_empty(intent, spec, todo, instances, known=opening.drain in past.started))
    about = empty or tuple(_cordons(intent, spec, todo, instances))
    about = (*about, *_over(intent, spec, opening.drain, past))
    findings = tuple(sorted((*findings, *about), key=sort_key))
    if not todo:
        return None, findings
    request = Request(
        id=opening.drain,
        intent=intent.ref,
        allowed=(opening.allowed,),
        first_move=past.next_move(opening.drain),
        allow_breach=spec.allow_breach,
    )
    # once it has begun, an empty node has left service, or its turn is approved already
    fresh = opening.drain not in past.started and request.first_move == 1
    return replace(_goal(request, spec, todo, fresh), ready_by=opening.ready_by), findings


def _goal(
    request: Request, spec: MaintenanceWindowSpec, nodes: tuple[str, ...], fresh: bool
) -> EmptyNodes:
    """`fresh`: nothing of it has begun."""
    return EmptyNodes(
        request=request,
        nodes=nodes,
        max_nodes_at_once=spec.drain.max_nodes_at_once,
        block=spec.drain.not_migratable == "BlockNode",
        cordoned_by_gitbot=spec.drain.cordon == "Gitbot",
        away=None if spec.drain.together else spec.drain.reboot,
        ordered=spec.drain.order is not None,
        together=spec.drain.together,
        cordons_empty=fresh and spec.drain.cordon == "Gitbot",
    )


def goals(intents: IntentSet, instances: Instances, asked: GoalInputs) -> CompiledGoals:
    """The current or next drain of each window."""
    drains, findings = list[Goal](), list[Finding]()
    for intent, _ in intents.maintenance_windows:
        if asked.wanted(intent.ref):
            drain, found = compile_drain(
                intents,
                instances,
                window=intent.ref.name,
                now=asked.now,
                zone=asked.zone,
                past=asked.past,
            )
            findings += found
            drains += (drain,) if drain is not None else ()
    return tuple(drains), tuple(findings)


def _over(
    intent: Intent, spec: MaintenanceWindowSpec, drain: DrainId, past: RequestHistory
) -> Iterator[Finding]:
    """An occurrence has ended, and its window was edited since."""
    known, cancelled = past.started.get(drain, ""), drain in past.cancelled
    if drain not in past.finished or known == intent.spec_digest or not (known or cancelled):
        return
    ended = "was cancelled" if cancelled else "has run and is finished"
    if spec.schedule is not None and spec.schedule.recurrence:
        words, hint = "; the window counts again from its next opening", "or give it another name"
        yield warning(
            intent, ("spec", "schedule"), "finished-window", f"{drain} {ended}{words}", hint
        )
        return
    hint = "give it another name or start"
    say = error if known else warning
    yield say(intent, ("metadata", "name"), "finished-window", f"{drain} {ended}", hint)


def _empty(
    intent: Intent,
    spec: MaintenanceWindowSpec,
    nodes: tuple[str, ...],
    instances: Instances,
    *,
    known: bool,
) -> Iterator[Finding]:
    """A window that nothing has to leave, of nodes that gitbot does not cordon."""
    if spec.drain.cordon == "Gitbot":
        return
    recurs = spec.schedule is not None and spec.schedule.recurrence
    if known or recurs or not nodes or not instances.on_node.keys().isdisjoint(nodes):
        return
    still_open = [node for node in sorted(nodes) if not instances.domains.nodes[node].unschedulable]
    has = "has" if len(nodes) == 1 else "have"
    message = (
        f"{first_of(sorted(nodes), 8)} {has} no VM now: nothing moves, and gitbot cordons nothing"
    )
    cordon = "they are cordoned already"
    if still_open:
        cordon = f"kubectl cordon {' '.join(still_open)}, or write drain.cordon: Gitbot"
    ends = "" if spec.schedule else "; the window stays open until its file is removed"
    yield warning(intent, ("spec", "nodes"), "nothing-to-do", message, f"{cordon}{ends}")


def _cordons(
    intent: Intent, spec: MaintenanceWindowSpec, nodes: tuple[str, ...], instances: Instances
) -> Iterator[Finding]:
    """With cordon External, an open node fills again while it is emptied."""
    if spec.drain.cordon == "Gitbot":
        return
    known = instances.domains.nodes
    still_open = [node for node in nodes if not known[node].unschedulable]
    if still_open:
        path: Path = ("spec", "drain", "cordon")
        verb = "is" if len(still_open) == 1 else "are"
        yield warning(
            intent,
            path,
            "not-cordoned",
            f"{first_of(still_open, 8)} {verb} not cordoned: new pods may land while VMs leave",
            "cordon before the drain starts, or write drain.cordon: Gitbot",
        )
