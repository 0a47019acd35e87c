"""The placement diff: what a plan changes, computed once and printed in every format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from gitbot.calendar import local_text, localized
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import at, labels_of, name_of
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.cluster.free_memory import free_memory
from gitbot.model.grouping import grouped
from gitbot.model.ledger.owner_approval import OwnerApproval
from gitbot.model.plan.findings import Finding, Severity, sort_key
from gitbot.model.plan.plan import Hold, HoldState, Manifest, PlacementPlan, Resilience
from gitbot.model.text.instants import FOREVER, format_instant
from gitbot.model.text.wording import counted, first_of
from gitbot.reports.conditions import Deadline, PlanConditions, acts, binding, lines
from gitbot.reports.html.year_chart import YearAhead
from gitbot.reports.memory_traffic import Traffic, traffic
from gitbot.reports.resilience import survived
from gitbot.reports.sentence import sentence

ZONE = "topology.kubernetes.io/zone"
RULE_BROKEN = "plan/rule-broken"
FREEZE_STOPS = "check/freeze-stops"
_NAMED_CODES = 2  # a commit status has 140 characters
_SKEW = 30  # seconds by which two clocks may differ
_LED = 3  # previews whose lines are shown
MANY = 40  # moves above which they are folded, and summed up by zone
_JUDGES = ("policy/", "constraints/")  # policies, and the replay of the plan


class DiffState(StrEnum):
    """The verdict in one word."""

    DENIED = "denied"  # a finding of replay or policy forbids it
    BLOCKED = "blocked"  # something asked for cannot be done
    WAITS = "waits"  # something asked for can be done later; `Diff.verdict` says when
    WARNING = "ready, with warnings"
    READY = "ready"
    LATER = "nothing moves yet"  # `Diff.verdict` says what acts, and when
    NOTHING = "nothing to do"


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffNode:
    """One touched node with the VMs (namespace/name) that it has before and after, sorted.

    `free`: bytes of allocatable memory that no pod has requested before the plan.
    """

    name: str
    zone: str
    before: tuple[str, ...]
    after: tuple[str, ...]
    free: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """What a window or a rule would do. Shown, but never part of the digest.

    `follows`: how its moves come about after a merge, in words that follow `3 moves follow`.
    """

    title: str
    plan: PlacementPlan
    follows: str = "later"
    outlook: PlanConditions = field(default_factory=PlanConditions)

    def lines(self, *, now: int, bandwidth: int) -> Iterator[tuple[str, str]]:
        """As `Diff.lines`; its plan is proposed later, so nothing expires but its time."""
        last = binding(self.plan, self.outlook, now=now, expires_at=FOREVER)
        return lines(self.plan, self.outlook, deadline=last, bandwidth=bandwidth)

    @property
    def acts(self) -> str:
        """What acts after a merge, and when."""
        window = next((item for item in self.outlook.conditions if item.open is not None), None)
        return acts(window) if window is not None else f"{self.title} is proposed after the merge"


@dataclass(frozen=True, slots=True, kw_only=True)
class Diff:
    """Everything that a reviewer sees. Times in seconds UTC, `bandwidth` in bytes a second.

    `blocked` counts holds that were asked for, `breaks_now` and `breaks_after` the amounts of
    breaches of required rules. `commands` are what to type next, in order.
    """

    state: DiffState
    plan: PlacementPlan
    digest: str
    expires_at: int
    now: int
    bandwidth: int
    blocked: int
    breaks_now: int
    breaks_after: int
    nodes: tuple[DiffNode, ...]
    findings: tuple[Finding, ...]
    manifests: tuple[Manifest, ...]
    previews: tuple[Preview, ...]
    commands: tuple[str, ...]
    applies: bool = True  # False in mode Observe
    openings: tuple[str, ...] = ()  # what a change of windows and freezes does to the year ahead
    year: YearAhead | None = None
    outlook: PlanConditions = field(default_factory=PlanConditions)
    consents: tuple[OwnerApproval, ...] | None = None  # of owners; None if no owner is ever asked
    report: str = ""  # address of the complete report, "" if it has none
    resilience: tuple[Resilience, ...] = ()
    merges: str = ""  # what else has to be merged, and by when
    standing: tuple[str, ...] = ()  # windows that are at work or over, where nothing is planned

    @property
    def deadline(self) -> Deadline:
        return binding(self.plan, self.outlook, now=self.now, expires_at=self.expires_at)

    @property
    def lines(self) -> tuple[tuple[str, str], ...]:
        """Label and text: when and how the plan is carried out, or what a merge leads to."""
        plan, deadline, bandwidth = self.plan, self.deadline, self.bandwidth
        lost = [survived(one) for one in self.resilience]
        if not plan.does_nothing:
            asked = (("owner's approval", consent.line) for consent in self.consents or ())
            conditions = lines(plan, self.outlook, deadline=deadline, bandwidth=bandwidth)
            return (*asked, *conditions, *lost)
        found: list[tuple[str, str]] = []
        for preview in self.leads_to[:_LED]:
            if len(self.leads_to) > 1:
                found.append(("then", f"{sentence(preview.plan)}."))
            found += preview.lines(now=self.now, bandwidth=bandwidth)
        return (*found, *lost)

    @property
    def verdict(self) -> str:
        """The state; also what acts later, and when, or what else needs a merge."""
        if self.state is DiffState.WAITS:
            return self.local(f"{self.state} until about {format_instant(self.waits_until)}")
        if self.merges and self.state in (DiffState.READY, DiffState.WARNING):
            return f"{self.state}, {self.merges}"
        if self.state is DiffState.NOTHING and self.openings:
            return "changes only when VMs may move"
        if self.state is DiffState.NOTHING and self.standing:
            others = len(self.standing) - 1
            more = f" (and {counted(others, 'more window')})" if others else ""
            return f"nothing to plan, {self.standing[0]}{more}"
        later = [preview.acts for preview in self.previews]
        return (
            f"{self.state}, {first_of(later, 1)}" if self.state is DiffState.LATER else self.state
        )

    def local(self, text: str, *, now: bool = False) -> str:
        """The text with its instants in the cluster's zone; `now`: also how far away they are."""
        return localized(text, self.outlook.zone, now=self.now if now else None)

    @property
    def snapshot_time(self) -> str:
        """When the snapshot was taken, in the cluster's zone, and how long ago that was."""
        taken = self.plan.snapshot.taken_at
        # a command notes its own start first: what it reads after that is of now
        now = self.now if self.from_the_future else max(self.now, taken)
        return localized(format_instant(taken), self.outlook.zone, now=now)

    @property
    def waits_until(self) -> int:
        """When the last of the holds that only wait is over, in seconds UTC; 0 without one."""
        waits = (hold.until for hold in self.plan.holds if hold.state is HoldState.WAITS)
        return max(waits, default=0)

    @property
    def leads_to(self) -> tuple[Preview, ...]:
        """The previews in which something moves."""
        return tuple(preview for preview in self.previews if preview.plan.moves)

    @property
    def happens(self) -> str:
        """What a merge does, in one sentence; "" if nothing ever moves."""
        if not (self.plan.does_nothing and self.leads_to):
            return sentence(self.plan)
        first, *others = [sentence(preview.plan) for preview in self.leads_to]
        more = f"; and {len(others)} more" if others else ""
        return f"Merging moves nothing yet. Planned as of now, it leads to: {first}{more}"

    @property
    def traffic(self) -> tuple[Traffic, ...]:
        """Of each touched node, in the order of `nodes`."""
        rows = ((node.name, (node.name, node.free)) for node in self.nodes)
        return traffic(self.plan.moves, rows)

    @property
    def traffic_by_zone(self) -> tuple[Traffic, ...]:
        rows = ((node.zone, (node.name, node.free)) for node in self.nodes)
        return traffic(self.plan.moves, rows)

    @property
    def queue(self) -> str:
        """The limits that the estimates keep."""
        return f"{self.plan.limits.at_once}, {self.plan.limits.per_source_node} away from a node"

    @property
    def from_the_future(self) -> int:
        """Minutes by which the snapshot is later than the plan; not 0 only if clocks differ."""
        ahead = self.plan.snapshot.taken_at - self.now
        return -(-ahead // 60) if ahead > _SKEW else 0

    @property
    def snapshot_age(self) -> str:
        """`9 min before this plan`, or a note that clocks or --now are wrong."""
        if self.from_the_future:
            return f"from the future: {self.from_the_future} min after this plan"
        return f"{max(0, self.now - self.plan.snapshot.taken_at) // 60} min before this plan"

    @property
    def said(self) -> tuple[Finding, ...]:
        """The findings, without those that are in the table of rules."""
        return tuple(finding for finding in self.findings if finding.code != RULE_BROKEN)

    @property
    def said_locally(self) -> tuple[Finding, ...]:
        """The same with their times in the cluster's zone."""
        return tuple(
            replace(item, message=self.local(item.message), hint=self.local(item.hint))
            for item in self.said
        )

    @property
    def counts(self) -> str:
        """`3 moves, 1 blocked, rule breaks 2 → 0`, errors with their codes before them.

        Of a rule that is new and broken, `3 moves follow in a healing pull request, …`.
        """
        errors = [item.code for item in self.findings if item.severity is Severity.ERROR]
        codes = sorted(set(errors))
        named = ", ".join(codes[:_NAMED_CODES]) + (", …" if len(codes) > _NAMED_CODES else "")
        cause = f"{counted(len(errors), 'error')} ({named}), " if errors else ""
        breaks = f"rule breaks {self.breaks_now} → {self.breaks_after}"
        if self.leads_to and not self.plan.moves and self._breaks_then != self.breaks_after:
            breaks = f"{breaks}, then {self._breaks_then}"
        wishes = [rule for rule in self.plan.rules if not rule.required]
        missed, now = sum(rule.after for rule in wishes), sum(rule.before for rule in wishes)
        soft = f", soft ones {now} → {missed}" if missed or now else ""
        waits = sum(hold.state is HoldState.WAITS for hold in self.plan.holds)
        later = f", {waits} waiting" if waits else ""
        return f"{cause}{self._moves}, {self.blocked} blocked{later}, {breaks}{soft}"

    @property
    def _moves(self) -> str:
        """How many moves a merge approves; if none, how many follow, and how."""
        if cordoned := self.plan.only_cordoned:
            cordons = f"{counted(len(cordoned), 'node')} to cordon"
            return ", ".join(
                [*([counted(len(self.plan.moves), "move")] if self.plan.moves else []), cordons]
            )
        if self.plan.moves or not self.leads_to:
            stuck = not self.plan.moves and any(preview.plan.holds for preview in self.previews)
            return counted(len(self.plan.moves), "move") + (" now or later" if stuck else "")
        number = Counter[str]()
        for preview in self.leads_to:
            number[preview.follows] += len(preview.plan.moves)
        parts = (
            f"{counted(count, 'move')} {'follows' if count == 1 else 'follow'} {how}"
            for how, count in number.items()
        )
        return " and ".join(parts)

    @property
    def _breaks_then(self) -> int:
        """The amounts of breaches of required rules once the previews are carried out too."""
        rules = (rule for preview in self.leads_to for rule in preview.plan.rules if rule.required)
        return self.breaks_after + sum(rule.after - rule.before for rule in rules)


def placement_diff(
    plan: PlacementPlan,
    *,
    snapshot: ClusterSnapshot,
    digest: str,
    expires_at: int,
    now: int,
    bandwidth: int,
    findings: Iterable[Finding] = (),
    manifests: Iterable[Manifest] = (),
    previews: Iterable[Preview] = (),
    commands: Iterable[str] = (),
    zone_key: str = ZONE,
    applies: bool = True,
    outlook: PlanConditions | None = None,
    report: str = "",
    resilience: Iterable[Resilience] = (),
) -> Diff:
    ordered = tuple(sorted(findings, key=sort_key))
    required = [rule for rule in plan.rules if rule.required]
    previewed = tuple(previews)
    return Diff(
        state=_state(plan, ordered, later=bool(previewed)),
        plan=plan,
        digest=digest,
        expires_at=expires_at,
        now=now,
        bandwidth=bandwidth,
        blocked=sum(hold.state is HoldState.BLOCKED for hold in plan.holds),
        breaks_now=sum(rule.before for rule in required),
        breaks_after=sum(rule.after for rule in required),
        nodes=_touched(plan, snapshot, zone_key),
        findings=ordered,
        manifests=tuple(manifests),
        previews=previewed,
        commands=tuple(commands) or default_commands(plan),
        applies=applies,
        outlook=outlook or PlanConditions(),
        report=report,
        resilience=tuple(resilience),
    )


def is_said(diff: Diff, hold: Hold) -> bool:
    """Whether a finding says already why a VM of a preview cannot move."""
    return any(
        finding.code == f"plan/{hold.code}" and finding.message.endswith(hold.reason)
        for finding in diff.said
        if str(hold.vm.namespaced_name) in finding.message
    )


HOLD_TITLES = {
    HoldState.BLOCKED: "Blocked",
    HoldState.WAITS: "Wait",
    HoldState.STAYS: "Stay where they are",
}


def why_held(hold: Hold, diff: Diff) -> str:
    """The reason, and until when it holds if it ends by itself."""
    until = f"until about {format_instant(hold.until)}: " if hold.until else ""
    return diff.local(f"{until}{hold.reason}")


def what_to_do(hold: Hold) -> str:
    return hold.hint or f"gitbot explain vm/{hold.vm.name} -n {hold.vm.namespace}"


def wave_rows(plan: PlacementPlan, zone: str) -> list[tuple[str, str, str, str]]:
    """Number, moves, estimated start and end of each wave, in local time."""
    counts = Counter(move.wave for move in plan.moves)
    return [
        (
            str(wave.index + 1),
            str(counts[wave.index]),
            local_text(wave.starts, zone),
            local_text(wave.ends, zone),
        )
        for wave in plan.waves
    ]


def by_reasons(hold: Hold) -> tuple[tuple[tuple[str, ...], str], ...]:
    """Why nodes refuse a held VM: nodes with equal reasons together, in order of name."""
    groups = grouped(("; ".join(item.reasons), item.node) for item in hold.nodes)
    return tuple((nodes, reasons) for reasons, nodes in groups.items())


def default_commands(plan: PlacementPlan) -> tuple[str, ...]:
    """What to type next: why a VM is held, which objects would be created, what runs."""
    asked = [hold.vm for hold in plan.holds if hold.asked]
    explain = [f"gitbot explain vm/{vm.name} -n {vm.namespace}" for vm in asked[:1]]
    return (*explain, *([] if plan.does_nothing else ["gitbot render"]), "gitbot status")


def _state(plan: PlacementPlan, findings: tuple[Finding, ...], *, later: bool) -> DiffState:
    severities = {finding.severity for finding in findings}
    errors = [finding for finding in findings if finding.severity is Severity.ERROR]
    if any(finding.code.startswith(_JUDGES) for finding in errors):
        return DiffState.DENIED
    if errors or any(hold.state is HoldState.BLOCKED for hold in plan.holds):
        return DiffState.BLOCKED
    if any(hold.state is HoldState.WAITS for hold in plan.holds):
        return DiffState.WAITS
    stops = any(finding.code == FREEZE_STOPS for finding in findings)
    broken = any(rule.after and not rule.intent.of_vm for rule in plan.rules)
    if plan.does_nothing and not broken and not stops:
        return DiffState.LATER if later else DiffState.NOTHING
    return DiffState.WARNING if Severity.WARNING in severities else DiffState.READY


def _touched(plan: PlacementPlan, snapshot: ClusterSnapshot, zone_key: str) -> tuple[DiffNode, ...]:
    touched = {move.source.node for move in plan.moves} | {move.to.node for move in plan.moves}
    zones = {ref.node: ref.zone for move in plan.moves for ref in (move.source, move.to)}
    zones |= {name_of(node).name: labels_of(node).get(zone_key, "") for node in snapshot.of("Node")}
    free = free_memory(snapshot, touched)
    before = _places(snapshot)
    after = dict(before)
    for move in plan.moves:
        after[move.vm.namespaced_name] = move.to.node
    then, afterwards = _by_node(before), _by_node(after)
    nodes = [
        DiffNode(
            name=node,
            zone=zones.get(node, ""),
            before=then.get(node, ()),
            after=afterwards.get(node, ()),
            free=free.get(node, 0),
        )
        for node in touched
    ]
    return tuple(sorted(nodes, key=lambda node: (node.zone, node.name)))


def _places(snapshot: ClusterSnapshot) -> dict[NamespacedName, str]:
    return {
        name_of(instance): at(instance, "status", "nodeName", default="")
        for instance in snapshot.of("VirtualMachineInstance")
    }


def _by_node(places: Mapping[NamespacedName, str]) -> Mapping[str, tuple[str, ...]]:
    return grouped((place, str(vm)) for vm, place in sorted(places.items()))
