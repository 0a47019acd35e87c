"""A witness of one promise: at the instant of every create, the move was allowed to start.

It trusts nothing of the executor. The reviewed times come from the ledger's lines, the freezes from
the intents of the base that was read last, the instant from the object as the server stored it.
"""

from collections.abc import Callable

from gitbot.intents import freeze_times
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import KubernetesObject, labels_of, name_of
from gitbot.kubernetes.selectors import LabelMatcher
from gitbot.model.ledger.events import MoveApproved, MoveChanged, MoveEvent
from gitbot.model.ledger.ledger import Ledger
from gitbot.model.text.instants import format_instant, parse_instant
from gitbot.ports.cluster import Gate, no_gate
from gitbot.simulation.port import SimulatedPort
from gitbot.workflows.core.revision_engine import RevisionEngine

VMI = "VirtualMachineInstance"


class TimelyPort(SimulatedPort):
    """The simulated cluster; each migration of gitbot's is created within its allowed time."""

    read_ledger: Callable[[], Ledger] | None = None
    base: RevisionEngine | None = None
    witnessed: int = 0

    def watched(
        self, read_base: Callable[[str], RevisionEngine]
    ) -> Callable[[str], RevisionEngine]:
        """`read_base` that tells which base was read last."""

        def read(commit: str) -> RevisionEngine:
            self.base = read_base(commit)
            return self.base

        return read

    def create_migration(
        self, migration: KubernetesObject, *, dry_run: bool = False, gate: Gate = no_gate
    ) -> KubernetesObject:
        stored = super().create_migration(migration, dry_run=dry_run, gate=gate)
        if self.read_ledger is not None and self.base is not None and not dry_run:
            wrong = untimely(stored, self.read_ledger(), self.base, self._instance(stored))
            assert not wrong, wrong
            self.witnessed += 1
        return stored

    def _instance(self, stored: KubernetesObject) -> KubernetesObject:
        return self.cluster.get(VMI, stored["spec"]["vmiName"], name_of(stored).namespace) or {}


def untimely(
    stored: KubernetesObject, ledger: Ledger, base: RevisionEngine, instance: KubernetesObject
) -> str:
    """Why a migration should not have been created at its time; "" if it was allowed."""
    created = parse_instant(stored["metadata"]["creationTimestamp"])
    name = str(name_of(stored))
    announced = [e for e in ledger.events if isinstance(e, MoveChanged) and e.migration == name]
    if not announced:
        return f"{name} was created, and the ledger does not announce it"
    move = announced[-1]
    terms = next(
        event.terms
        for event in reversed(ledger.events)
        if isinstance(event, MoveApproved)
        and (event.request, event.move) == (move.request, move.move)
    )
    inside = any(start <= created < end for start, end in terms.allowed)
    if not inside and not (terms.finish and _began(ledger, move, terms.allowed)):
        return f"{name} was created at {format_instant(created)}, allowed is {terms.allowed}"
    by = _frozen(base, name_of(stored), instance, created)
    return f"{name} was created at {format_instant(created)}, in FreezeWindow {by}" if by else ""


def _began(ledger: Ledger, move: MoveChanged, allowed: tuple[tuple[int, int], ...]) -> bool:
    """Whether the request had an effect within its time, so that overrun: Finish lets it go on."""
    return any(
        isinstance(event, MoveEvent)
        and event.request == move.request
        and isinstance(event, MoveChanged)
        and bool(event.migration)
        and any(start <= event.time < end for start, end in allowed)
        for event in ledger.events
    )


def _frozen(
    base: RevisionEngine, name: NamespacedName, instance: KubernetesObject, instant: int
) -> str:
    for intent, spec in base.intents.freeze_windows:
        if spec.namespaces is not None and name.namespace not in spec.namespaces:
            continue
        wanted = spec.selector.plain() if spec.selector is not None else {}
        if not LabelMatcher.of(wanted).matches(labels_of(instance)):
            continue
        zone = base.revision.zone
        times = freeze_times(intent, spec, zone=zone, after=instant, before=instant + 1) or ()
        if any(time.contains(instant) for time in times):
            return intent.ref.name
    return ""
