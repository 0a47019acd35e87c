"""What would happen: one question about a cluster, answered on its snapshot."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Concatenate, ParamSpec

from gitbot.audit import AuditFinding, audit_cluster, gathering
from gitbot.calendar import format_duration
from gitbot.constraints.failure.node_loss import LossSimulation, NodeLoss, Restart
from gitbot.constraints.moves.instances import Instances
from gitbot.constraints.rules.vm_spec_rules import own_rules
from gitbot.errors import InvalidInput, UsageError
from gitbot.intents import Intent, IntentSet, read_intents, stops
from gitbot.intents.compile import NO_PAST, RequestHistory, compile_rules, effective_limits
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import KubernetesObject, labels_of, name_of, with_value
from gitbot.kubernetes.selectors import LabelMatcher
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.cluster.scheduling import ZONE
from gitbot.model.ledger.request_id import OccurrenceId
from gitbot.model.plan.constraint import RuleConstraint
from gitbot.model.plan.findings import Finding
from gitbot.model.plan.plan import Hold, Move, PlacementPlan
from gitbot.model.plan.problem import EmptyNodes, Limits, PlacementProblem, Request
from gitbot.model.text.names import IntentRef
from gitbot.model.text.wording import counted, meant, nearest
from gitbot.planner import is_answer, make_plan, unplanned
from gitbot.reports import estimated_at
from gitbot.workflows.core.judged_plan import ANSWER_WITHOUT, fault_findings
from gitbot.workflows.core.revision import INTENTS, Revision
from gitbot.workflows.core.revision_engine import RevisionEngine

P = ParamSpec("P")
_Identity = tuple[str, str, str]
_ASKED = OccurrenceId(window="simulated", id="now").drain


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeChange:
    """The VMs of a node before and after."""

    node: str
    zone: str
    vms: tuple[NamespacedName, ...]
    then: tuple[NamespacedName, ...]

    @property
    def before(self) -> int:
        return len(self.vms)

    @property
    def after(self) -> int:
        return len(self.then)


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """The answer. What does not apply is empty.

    `moves` are live migrations, `restarts` starts elsewhere or nowhere, `holds` VMs that stay,
    `off` VMs that nobody starts again, `pods` starts of other pods, `others` those without a place.
    `estimate` says what `seconds` rest on. `gathered` are workloads whose members are newly on one
    node or in one zone. `broken` are findings that are new, `kept` says for which sets room is
    kept. `unsurvived` are losses that leave VMs without a place, of `asked` losses.
    `could` are nodes that can be empty together, if all that were asked for cannot. `faults` are
    those of gitbot itself, in lines to report; not `answered`: they left nothing of the answer.
    """

    cluster: str
    question: str
    moves: tuple[Move, ...] = ()
    restarts: tuple[Restart, ...] = ()
    holds: tuple[Hold, ...] = ()
    off: tuple[NamespacedName, ...] = ()
    pods: tuple[Restart, ...] = ()
    others: int = 0
    gathered: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()
    mended: tuple[str, ...] = ()
    unsurvived: tuple[NodeLoss, ...] = ()
    asked: int = 0
    seconds: int = 0
    estimate: tuple[str, ...] = ()
    nodes: tuple[NodeChange, ...] = ()
    could: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()
    answered: bool = True

    @property
    def bad(self) -> bool:
        """Whether something finds no place, stays, or breaks, or could not be planned."""
        pending = any(not item.to for item in self.restarts)
        return bool(pending or self.holds or self.broken or self.unsurvived or self.faults)


def chosen_nodes(
    snapshot: ClusterSnapshot,
    names: Sequence[str],
    *,
    zone: str = "",
    labels: LabelMatcher | None = None,
) -> tuple[str, ...]:
    """Nodes by name, zone or labels. Raises UsageError for an unknown name, or for none."""
    known = {name_of(node).name: labels_of(node) for node in snapshot.of("Node")}
    zones = {own.get(ZONE, "") for own in known.values()} - {""}
    for name in names:
        if name not in known:
            hint = f"did you mean --zone {name}?" if name in zones else meant(name, known)
            raise UsageError(f"there is no node {name}", hint=hint)
    if zone and zone not in zones:
        near = nearest(zone, zones)
        hint = f"did you mean {near}?" if near else f"the zones are {', '.join(sorted(zones))}"
        raise UsageError(f"no node is in zone {zone}", hint=hint)
    found = list(names)
    for name, own in sorted(known.items()):
        if (zone and own.get(ZONE) == zone) or (labels is not None and labels.matches(own)):
            found.append(name)
    if not found:
        hint = "give names, --zone or -l" if labels is None else "no node has the labels of -l"
        raise UsageError("no node is meant", hint=hint)
    return tuple(dict.fromkeys(found))


_Ask = Callable[Concatenate["Simulation", P], Forecast]


def _question(ask: _Ask[P]) -> _Ask[P]:
    """A question during which gitbot contradicts itself is answered with the fault."""

    @functools.wraps(ask)
    def answer(self: Simulation, /, *args: P.args, **kwargs: P.kwargs) -> Forecast:
        try:
            return ask(self, *args, **kwargs)
        except Exception as error:
            if is_answer(error):
                raise
            found = fault_findings((unplanned(self.snapshot, error),), ANSWER_WITHOUT)
            return Forecast(
                cluster=self.snapshot.cluster,
                question=ask.__name__,
                faults=_lines(found),
                answered=False,
            )

    return answer


def _lines(findings: Iterable[Finding]) -> tuple[str, ...]:
    return tuple(f"{item.message}; {item.hint}" for item in findings)


class Simulation:
    """One snapshot, with the rules of a revision and what its ledger knows, or without."""

    def __init__(
        self,
        snapshot: ClusterSnapshot,
        *,
        now: int,
        revision: Revision | None = None,
        past: RequestHistory = NO_PAST,
    ) -> None:
        self.snapshot, self._now, self._revision, self._past = snapshot, now, revision, past

    @property
    def _instances(self) -> Instances:
        return Instances.of(self.snapshot)

    def chosen(
        self, names: Sequence[str], *, zone: str = "", labels: LabelMatcher | None = None
    ) -> tuple[str, ...]:
        return chosen_nodes(self.snapshot, names, zone=zone, labels=labels)

    @_question
    def lose(self, nodes: Sequence[str]) -> Forecast:
        loss = LossSimulation(self.snapshot, self._rules(self.snapshot)).of(nodes)
        ends = {item.vm: item.to for item in loss.restarts} | dict.fromkeys(loss.off, "")
        return replace(
            self._forecast(f"lose {', '.join(loss.nodes)}", ends),
            restarts=loss.restarts,
            off=loss.off,
            pods=loss.pods,
            others=loss.others,
            gathered=self._gathered(
                ends, pods={item.vm: item.to for item in loss.pods}, closed=loss.nodes
            ),
            broken=tuple(breach.message for breach in loss.broken),
        )

    @_question
    def drain(self, nodes: Sequence[str], *, rolling: int = 0) -> Forecast:
        """Empty these nodes together; with `rolling`, so many at once, each back when empty."""
        what = f"drain {', '.join(nodes)}"
        if not rolling:
            return self._drained(what, nodes, away=None, together=len(nodes) > 1)
        return self._drained(f"{what}, {rolling} at once", nodes, away=0, at_once=rolling)

    @_question
    def reboot(self, *, away: int) -> Forecast:
        """Empty every node with VMs once, one at a time; each is back `away` seconds later."""
        nodes = tuple(sorted(self._instances.on_node))
        return self._drained("reboot every node once", nodes, away=away)

    @_question
    def grow(self, vm: NamespacedName, count: int) -> Forecast:
        if vm not in self._instances:
            raise UsageError(f"there is no VM {vm}")
        growth = LossSimulation(self.snapshot).grown(vm, count)
        ends = {item.vm: item.to for item in growth.starts}
        found = self._forecast(f"{count} more like {vm}", ends)
        return replace(found, restarts=growth.starts, kept=growth.kept)

    @_question
    def label(self, node: str, key: str, value: str | None) -> Forecast:
        """What breaks and what is mended if a node gets a label, or loses it."""
        (name,) = self.chosen((node,))
        objects = tuple(
            _labelled(obj, key, value) if name_of(obj).name == name else obj
            for obj in self.snapshot.of("Node")
        )
        changed = replace(self.snapshot, objects={**self.snapshot.objects, "Node": objects})
        words = f"{key}={value}" if value is not None else f"no label {key}"
        after = self._audited(changed, self._rules(changed))
        return self._compared(f"{name} has {words}", after)

    @_question
    def rule(self, data: bytes, file: str) -> Forecast:
        """What breaks and what is mended if the rules of a file are new, or replace theirs.

        Raises InvalidInput if the file has errors, UsageError without a revision.
        """
        if self._revision is None:
            raise UsageError("rules are of a repository of intents", hint="run it in one")
        cluster, own = self._revision.cluster, self._revision.intents.intents
        path = f"{INTENTS}{cluster}/simulated.yaml"
        new, found = read_intents({path: data}, self._revision.settings, cluster)
        if any(map(stops, found)):
            raise InvalidInput("\n".join(str(replace(item, file=file)) for item in found))
        for intent in new.intents:
            # an intent that is not a rule would read as a rule that changes nothing
            if not compile_rules(replace(new, intents=(intent,)), self._instances)[0]:
                raise UsageError(
                    f"{file}: found {intent.ref.id}, expected rules such as a PlacementRule"
                )
        ids = {intent.ref.id for intent in new.intents}
        kept = [intent for intent in own if intent.ref.id not in ids]
        every = IntentSet(cluster=cluster, intents=tuple(sorted([*kept, *new.intents], key=_order)))
        rules = compile_rules(every, self._instances)[0]
        return self._compared(f"rules of {file}", self._audited(self.snapshot, rules))

    def _compared(self, question: str, after: Mapping[_Identity, str]) -> Forecast:
        before = self._audited(self.snapshot, self._rules(self.snapshot))
        return Forecast(
            cluster=self.snapshot.cluster,
            question=question,
            broken=tuple(after[one] for one in after if one not in before),
            mended=tuple(before[one] for one in before if one not in after),
        )

    @_question
    def survive(self, *, zones: bool, nodes: bool) -> Forecast:
        """Whether every VM finds a place after the loss of any one node, of any one zone."""
        every = sorted(self._instances.on_node) if nodes else []
        groups: list[tuple[str, ...]] = [(name,) for name in every]
        if zones:
            column = self._instances.domains.column(ZONE)
            by_zone: dict[str, list[str]] = {}
            for name, zone in sorted(column.items()):
                by_zone.setdefault(zone, []).append(name)
            groups += [tuple(by_zone[zone]) for zone in sorted(by_zone)]
        levels = " and ".join([*(["node"] if nodes else []), *(["zone"] if zones else [])])
        return Forecast(
            cluster=self.snapshot.cluster,
            question=f"lose any one {levels}",
            unsurvived=tuple(LossSimulation(self.snapshot).not_survived(groups)),
            asked=len(groups),
        )

    def _drained(
        self,
        question: str,
        nodes: Sequence[str],
        *,
        away: int | None,
        at_once: int = 1,
        together: bool = False,
    ) -> Forecast:
        intent = IntentRef(kind="MaintenanceWindow", namespace="", name="simulated")
        zones = self._instances.domains.column(ZONE)  # a window orders its nodes by zone and name
        goal = EmptyNodes(
            request=Request(id=_ASKED, intent=intent),
            nodes=tuple(sorted(nodes, key=lambda name: (zones.get(name, ""), name))),
            block=False,
            cordoned_by_gitbot=True,
            max_nodes_at_once=at_once,
            away=away,
            together=together,
        )
        problem = self._problem(goal)
        plan = make_plan(problem)
        ends = {move.vm.namespaced_name: move.to.node for move in plan.moves}
        return replace(
            self._forecast(question, ends),
            moves=plan.moves,
            holds=plan.holds,
            gathered=self._gathered(ends, closed=() if away is not None else nodes),
            seconds=_seconds(plan, self._now),
            estimate=tuple(self._estimate(plan.moves, problem.bandwidth)) if plan.moves else (),
            could=tuple(node for drain in plan.drains for node in drain.could),
            faults=_lines(fault_findings(plan.faults)),
            broken=tuple(
                message
                for rule in plan.rules
                if rule.after > rule.before
                for message in rule.after_messages
                if message not in rule.before_messages
            ),
        )

    def _estimate(self, moves: Sequence[Move], bandwidth: int) -> Iterator[str]:
        """What it rests on, as a plan says it, and how long each VM took before."""
        yield estimated_at(moves, bandwidth)
        if self._revision is None:
            yield "how long they took before is not known: there is no repository with a ledger"
        for vm in dict.fromkeys(move.vm.namespaced_name for move in moves):
            if (past := self._past.took.get(vm)) is not None:
                last = format_duration(past.seconds)
                yield f"{vm} last took {last} ({counted(past.count, 'move')} in the ledger)"

    def _problem(self, goal: EmptyNodes) -> PlacementProblem:
        if self._revision is not None:
            engine = RevisionEngine(revision=self._revision)
            past = self._past
            return engine.compile(self.snapshot, now=self._now, goals=(goal,), past=past)[0]
        return PlacementProblem(
            cluster=self.snapshot.cluster,
            now=self._now,
            snapshot=self.snapshot,
            rules=own_rules(self.snapshot),
            goals=(goal,),
            limits=effective_limits(Limits(), self.snapshot),
        )

    def _rules(self, snapshot: ClusterSnapshot) -> tuple[RuleConstraint, ...]:
        if self._revision is None:
            return ()
        return compile_rules(self._revision.intents, Instances.of(snapshot))[0]

    def _audited(
        self, snapshot: ClusterSnapshot, rules: Sequence[RuleConstraint]
    ) -> dict[_Identity, str]:
        found = audit_cluster(snapshot, rules)
        return {_identity(item): f"{item.subject}: {item.finding.message}" for item in found}

    def _gathered(
        self,
        ends: Mapping[NamespacedName, str],
        *,
        pods: Mapping[NamespacedName, str] | None = None,
        closed: Iterable[str] = (),
    ) -> tuple[str, ...]:
        found = gathering(self.snapshot, ends, pods=pods, closed=closed)
        return tuple(f"{item.subject}: {item.finding.message}" for item in found)

    def _forecast(self, question: str, ends: dict[NamespacedName, str]) -> Forecast:
        homes = self._instances.homes
        after = {**homes, **ends}
        touched = {homes.get(vm, "") for vm in ends} | set(ends.values())
        return Forecast(
            cluster=self.snapshot.cluster,
            question=question,
            nodes=tuple(
                NodeChange(
                    node=node,
                    zone=labels_of(self._instances.nodes.get(node, {})).get(ZONE, ""),
                    vms=_held(homes, node),
                    then=_held(after, node),
                )
                for node in sorted(touched - {""})
            ),
        )


def _held(places: Mapping[NamespacedName, str], node: str) -> tuple[NamespacedName, ...]:
    return tuple(sorted(vm for vm, place in places.items() if place == node))


def _seconds(plan: PlacementPlan, now: int) -> int:
    return max((wave.ends for wave in plan.waves), default=now) - now


def _labelled(node: KubernetesObject, key: str, value: str | None) -> KubernetesObject:
    labels = dict(labels_of(node))
    labels.pop(key, None)
    if value is not None:
        labels[key] = value
    return with_value(node, labels, "metadata", "labels")


def _order(intent: Intent) -> tuple[str, str, str]:
    return intent.ref.namespace, intent.ref.name, intent.ref.kind


def _identity(item: AuditFinding) -> _Identity:
    return item.finding.code, str(item.name), item.finding.message
