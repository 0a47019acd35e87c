"""Windows against the work in them: too short for a node, for all nodes, or for a request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from gitbot.calendar import format_duration
from gitbot.documents import Path, finding_at
from gitbot.intents import (
    TOO_SHORT,
    Intent,
    MaintenanceWindowSpec,
    MigrationRequestSpec,
    NodesSpec,
    conflicts,
)
from gitbot.intents.compile import compile_requests, nodes_of, request_id
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import condition_of
from gitbot.model.grouping import grouped
from gitbot.model.ledger.request_id import RequestId
from gitbot.model.plan.findings import Finding, Severity
from gitbot.model.plan.plan import PlacementPlan
from gitbot.model.plan.problem import Limits, MoveVms, PlacementProblem
from gitbot.model.text.instants import FOREVER, Interval, format_instant, intersect, subtract
from gitbot.model.text.wording import counted, first_of
from gitbot.planner import Copies
from gitbot.workflows.check.scope import ClusterScope

STARVED = "intents/starved"
_SHOWN = 4
_DURATION: Path = ("spec", "schedule", "duration")


def window_findings(
    scope: ClusterScope, problem: PlacementProblem, plan: PlacementPlan
) -> tuple[Finding, ...]:
    """What windows cannot hold, with the arithmetic, and conflicts in the year ahead.

    On a pull request, an error about windows and requests that it does not change is a warning.
    """
    work = _WindowWork(scope, problem)
    return (*_conflicts(scope), *work.too_short(), *work.starved(plan))


def _conflicts(scope: ClusterScope) -> list[Finding]:
    configured = scope.engine.settings.cluster(scope.engine.revision.cluster)
    domains = scope.instances.domains.nodes

    def zones(nodes: NodesSpec) -> frozenset[str]:
        found = {domains[name].zone for name in nodes_of(nodes, scope.instances)}
        return frozenset(found - {""})

    return conflicts(
        scope.intents.intents,
        scope.zone,
        one_zone=configured is not None and configured.one_zone_at_a_time,
        now=scope.evidence.now,
        zones=zones,
        changed=scope.changed if scope.before is not None else None,
    )


class _WindowWork:
    """Estimated seconds of the VMs of one problem, and what limits allow at once."""

    def __init__(self, scope: ClusterScope, problem: PlacementProblem) -> None:
        self.scope = scope
        self.problem = problem
        self.limits: Limits = problem.limits
        self.vmis = scope.instances.vmis
        self._copies = Copies(problem)
        homes = scope.instances.homes
        self._on = grouped((homes[vm], vm) for vm in sorted(homes) if vm in self.vmis)

    def severity(self, *intents: str) -> Severity:
        before = self.scope.before
        errs = before is None or any(each in self.scope.changed for each in intents)
        return Severity.ERROR if errs else Severity.WARNING

    def seconds(self, vms: Iterable[NamespacedName]) -> list[int]:
        """Of those that can move, the longest first."""
        known = [vm for vm in vms if vm in self.vmis and _can_move(self.vmis[vm])]
        return sorted((self._copies.of(vm, self.vmis[vm]).seconds for vm in known), reverse=True)

    def too_short(self) -> Iterator[Finding]:
        """Windows that are shorter than the drain of one of their nodes, or of all."""
        for intent, spec in self.scope.intents.maintenance_windows:
            if spec.nodes is None or spec.schedule is None:
                continue
            nodes = nodes_of(spec.nodes, self.scope.instances)
            known = {node: self.seconds(self._on.get(node, ())) for node in nodes}
            found = self._too_short(intent, spec, {n: each for n, each in known.items() if each})
            if found is not None:
                yield found

    def _too_short(
        self, intent: Intent, spec: MaintenanceWindowSpec, nodes: Mapping[str, Sequence[int]]
    ) -> Finding | None:
        lead, schedule = spec.drain.longest_lead, spec.schedule
        if schedule is None:
            return None
        length = lead + schedule.duration
        out = min(self.limits.per_source_node, self.limits.slots)
        needs = {node: _least(seconds, out) for node, seconds in nodes.items()}
        alone = [node for node, need in needs.items() if need > length]
        lanes = min(spec.drain.max_nodes_at_once, max(1, len(nodes)))
        away = spec.drain.reboot * (len(nodes) - lanes)
        every = [each for seconds in nodes.values() for each in seconds]
        whole = max(-(-(sum(needs.values()) + away) // lanes), _least(every, self.limits.slots))
        if not alone and whole <= length:
            return None
        has = format_duration(length)
        if lead:
            has += f" ({format_duration(schedule.duration)}, and {format_duration(lead)} of lead)"
        if alone:
            sums = [_sum(node, nodes[node], needs[node], out) for node in alone]
            words, severity = f"a drain of {first_of(sums, _SHOWN)}", self.severity(intent.ref.id)
        else:
            each = [f"{node} {format_duration(need)}" for node, need in needs.items()]
            reboot = f", {format_duration(spec.drain.reboot)} away each" if away else ""
            words = (
                f"{format_duration(whole)} for {counted(len(nodes), 'node')}, {lanes} at once"
                f"{reboot} ({first_of(each, _SHOWN)})"
            )
            severity = Severity.WARNING
        message = f"found a window of {has}, expected time for {words}, at {self._rate} a migration"
        hint = "lengthen duration or lead, or drain fewer nodes in it"
        place = intent.positions.value(_DURATION)
        file = intent.ref.file
        return finding_at(
            file, place, TOO_SHORT, message, path=_DURATION, hint=hint, severity=severity
        )

    @property
    def _rate(self) -> str:
        return f"{self.problem.bandwidth // 2**20} MiB/s"

    def starved(self, plan: PlacementPlan) -> Iterator[Finding]:
        """Requests whose windows are too short for them before their deadline."""
        late = {hold.request for hold in plan.holds if hold.code == "deadline"}
        planned = tuple(goal for goal in self.problem.goals if isinstance(goal, MoveVms))
        for goal in (*planned, *self._touched(planned)):
            if goal.balance:
                continue  # how many of its VMs move is up to the plan
            intent = self.scope.intents.by_id(goal.request.intent.id)
            if intent is not None and isinstance(intent.spec, MigrationRequestSpec):
                limited = intent.spec.window or intent.spec.deadline is not None
                found = self._starved(intent, intent.spec, goal, late) if limited else None
                if found is not None:
                    yield found

    def _touched(self, planned: Sequence[MoveVms]) -> tuple[MoveVms, ...]:
        """Requests that a pull request leaves alone, but not their window or a freeze."""
        scope, evidence = self.scope, self.scope.evidence
        if scope.before is None:
            return ()
        changed = scope.changed  # compared with the base once, not for each request
        frozen = any(each.intent.id in changed for each in self.problem.freezes)
        known = {goal.request.id for goal in planned}
        others = {
            request_id(intent)
            for intent, spec in scope.intents.migration_requests
            if frozen or f"MaintenanceWindow/{spec.window}" in changed
        }
        return compile_requests(
            scope.intents,
            scope.instances,
            now=evidence.now,
            zone=scope.zone,
            past=evidence.past,
            only=others - known,
        )[0]

    def _starved(
        self, intent: Intent, spec: MigrationRequestSpec, goal: MoveVms, late: set[RequestId]
    ) -> Finding | None:
        seconds = self.seconds(goal.vms)
        future = (Interval(start=self.problem.now, end=FOREVER),)
        times = intersect(goal.request.allowed, future)
        if not seconds or not times or times[-1].end >= FOREVER:
            return None
        frozen = [
            time
            for freeze in self.problem.freezes
            if freeze.vms & set(goal.vms)
            for time in freeze.times
        ]
        left = subtract(times, tuple(frozen))
        if not left:
            return None  # its hold says so
        has, open_for = (sum(each.end - each.start for each in some) for some in (left, times))
        need = _least(seconds, self.limits.slots)
        longest = max(each.end - each.start for each in left)
        if need <= has and seconds[0] <= longest and goal.request.id not in late:
            return None
        window = f"window {spec.window} is open" if spec.window else "allowed"
        until = f" before {format_instant(times[-1].end)}"
        taken = f", {format_duration(open_for - has)} of it frozen" if open_for > has else ""
        pieces = f" in {counted(len(left), 'piece')}" if len(left) > 1 else ""
        others = "" if need > has else ", and its window is full of other moves"
        message = (
            f"found {format_duration(has)} to run{pieces} ({window} for {format_duration(open_for)}"
            f"{until}{taken}), expected at least {_sum('', seconds, need, self.limits.slots)}, at "
            f"{self._rate} a migration{others}"
        )
        path: Path = ("spec", "deadline" if spec.deadline is not None else "window")
        names = [intent.ref.id, f"MaintenanceWindow/{spec.window}"]
        hint = "allow more time before the deadline, or move less at once"
        return finding_at(
            intent.ref.file,
            intent.positions.value(path),
            STARVED,
            message,
            path=path,
            hint=hint,
            severity=self.severity(*names, *(freeze.intent.id for freeze in self.problem.freezes)),
        )


def _least(seconds: Sequence[int], at_once: int) -> int:
    """No schedule of these migrations is shorter."""
    return max(max(seconds, default=0), -(-sum(seconds) // max(1, at_once)))


def _sum(node: str, seconds: Sequence[int], need: int, at_once: int) -> str:
    """`n1: 9 min 12 s (4 VMs, 18 min in all, 2 at once, the longest 5 min)`."""
    amount = f"{counted(len(seconds), 'VM')}, {format_duration(sum(seconds))} in all, "
    amount += f"{at_once} at once, the longest {format_duration(max(seconds))}"
    return f"{node} in {format_duration(need)} ({amount})".lstrip().removeprefix("in ")


def _can_move(vmi: Mapping[str, object]) -> bool:
    condition = condition_of(vmi, "LiveMigratable")
    return condition is None or condition.get("status") != "False"
