"""What must hold at every moment, judged on what the server and the ledger's branch really have."""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NoReturn

from gitbot.execution.ledger_folds import stop_flag
from gitbot.execution.request_records import MoveRecord, RequestRecord, fold_requests
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import KubernetesObject, labels_of, name_of
from gitbot.model.ledger.events import (
    FINAL_STATES,
    LedgerEvent,
    MoveApproved,
    MoveChanged,
    MoveState,
)
from gitbot.model.ledger.ledger import Ledger
from gitbot.model.text.instants import Interval
from tests.torture.world import OWN_UID, World

MAX_SKEW = 30  # seconds
CORDON = "placement.gitbot.dev/cordon"


class Violation(BaseException):
    """A promise was broken. Nothing may catch it."""


@dataclass(slots=True, kw_only=True)
class Known:
    """What one process has seen."""

    flag: bool = False  # set, when it was last read
    flag_fresh: bool = False  # read since the last write
    ledger: Ledger = field(default_factory=Ledger)
    ledger_fresh: bool = False
    looked: int = -1
    instances: dict[str, int] = field(default_factory=dict)  # when each VM was last read by name
    uid: str = OWN_UID  # of the cluster, when it was last read


@dataclass(eq=False)
class Witness:
    world: World
    slots: int
    ledger: Callable[[], Ledger]
    clock_of: Callable[[str], int]
    frozen: Callable[[str, int], bool]  # by process: whether the base that it read forbids it now
    open_until: Callable[[str, str], int | None]  # by process and request: as the base that it read
    refused: Callable[[str, str], bool]  # by process and VM: whether a rule of that base forbids it
    stopped: Callable[[str, str], bool]  # by process and VM: whether a file of that base stops it
    known: dict[str, Known] = field(default_factory=lambda: defaultdict(Known))
    found: str = ""
    by_person: dict[str, int] = field(default_factory=dict)  # nodes that a person cordoned: when

    def fail(self, promise: str, text: str) -> NoReturn:
        self.found = self.found or f"{promise}: {text}"
        raise Violation(self.found)

    # What processes read

    def looked(self, who: str) -> None:
        self.known[who].looked = self.world.loop.now

    def read_uid(self, who: str, uid: str) -> None:
        self.known[who].uid = uid

    def read_instance(self, who: str, vm: str) -> None:
        """When the server answers, which may be long before the answer arrives."""
        self.known[who].instances[vm] = self.world.loop.now

    def read_flag(self, who: str, found: str | None) -> None:
        known = self.known[who]
        known.flag, known.flag_fresh = found is not None, True

    def read_ledger(self, who: str, ledger: Ledger) -> None:
        known = self.known[who]
        known.ledger, known.ledger_fresh = ledger, True

    # What they send

    def sends(self, who: str, what: str, target: str) -> int:
        """A request leaves now: the epoch of its claim, or when its sender last looked."""
        known = self.known[who]
        if not (known.flag_fresh and known.ledger_fresh):
            self.fail("hold", f"{who} sends {what} {target} without reading the stop flag again")
        if known.flag or stop_flag(known.ledger, "prod"):
            self.fail("hold", f"{who} sends {what} {target} although it read that it is stopped")
        if abs(self.clock_of(who) - self.world.seconds) > MAX_SKEW:
            self.fail("I13", f"{who} sends {what} {target} although its clock is far off")
        if known.uid != OWN_UID:
            self.fail("I3", f"{who} sends {what} {target} to a cluster that is not the ledger's")
        known.flag_fresh = known.ledger_fresh = False
        return self._may_send(who, target) if what == "create" else known.looked

    def _may_send(self, who: str, name: str) -> int:
        _, move = self._record(name)
        epoch = self._claimed(who, name, move, "sends")
        read = fold_requests(self.known[who].ledger, "prod").get(move.request)
        if read is not None and read.cancelled:
            self.fail("I3", f"{who} sends {name} although it read that it is cancelled")
        if self.known[who].instances.get(move.vm.name, -1) < self.known[who].looked:
            self.fail("I22", f"{who} sends {name} without reading its VM again")
        if self.refused(who, move.vm.name):
            self.fail("I4", f"{who} sends {name} although it breaks a rule")
        if self.stopped(who, move.vm.name):
            self.fail("I5", f"{who} sends {name} although a broken file stops its folder")
        ledger, now = self.ledger(), self.clock_of(who)
        terms = next(
            event.terms
            for event in reversed(ledger.events)
            if isinstance(event, MoveApproved)
            and (event.request, event.move) == (move.request, move.number)
        )
        end = self.open_until(who, str(move.request))
        allowed = terms.allowed if end is None else tuple((a, end) for a, _ in terms.allowed)
        inside = any(Interval(start=a, end=b).contains(now) for a, b in allowed)
        if not inside and not (terms.finish and len(move.effects) > 0):
            self.fail("I5", f"{who} sends {name} at {now}, allowed is {allowed}")
        if self.frozen(who, now):
            self.fail("I5", f"{who} sends {name} in a freeze that it has read")
        return epoch

    def _record(self, name: str) -> tuple[RequestRecord, MoveRecord]:
        full = str(NamespacedName(namespace="db", name=name))
        for request in fold_requests(self.ledger(), "prod").values():
            for move in request.moves.values():
                if full in move.effects:
                    return request, move
        return self.fail("I8", f"{name} is created and the ledger does not announce it")

    def _claimed(self, who: str, name: str, move: MoveRecord, does: str) -> int:
        if move.state is not MoveState.INTENDED or not move.migration.endswith("/" + name):
            self.fail("I3", f"{who} {does} {name}, and the ledger says the move is {move.state}")
        if move.claim is None or move.claim.executor != who:
            owner = move.claim.executor if move.claim else "nobody"
            self.fail("I20", f"{who} {does} {name}, which is claimed by {owner}")
        return move.claim.epoch

    def created(self, who: str, migration: KubernetesObject, epoch: int) -> None:
        """The server has accepted a creation."""
        name, vm = name_of(migration).name, str(migration["spec"]["vmiName"])
        times = sum(item.name == name for item in self.world.log)
        if times > 1:
            self.fail("I2", f"{name} was created {times} times")
        _, move = self._record(name)
        if self._claimed(who, name, move, "created") != epoch:
            self.fail("I20", f"{who} created {name} with a claim that is over")
        if len(move.effects) > move.attempts:
            self.fail("I2", f"{len(move.effects)} attempts of {move.attempts} for {move.vm}")
        instance = self.world.instances[vm]
        read = self.known[who].instances.get(vm, -1)
        if instance["metadata"]["uid"] != move.vm_uid and self.world.restarts.get(vm, 0) < read:
            self.fail("I22", f"{name} moves another VM than was approved")
        own = [item for item in self.world.unfinished() if _own(item)]
        if len(own) > self.slots:
            self.fail("I6", f"{len(own)} own migrations run, {self.slots} are allowed")

    def deletes(self, who: str, name: str, uid: str) -> None:
        found = self.world.migrations.get(name)
        if found is not None and found["metadata"]["uid"] == uid and not _own(found):
            self.fail("I14", f"{who} deletes {name}, which is not gitbot's")

    def cordons(self, who: str, node: str, unschedulable: bool, looked: int) -> None:
        """A cordon, or its removal, has reached the server; its sender had looked then."""
        found = self.world.nodes.get(node)
        if found is None:
            return
        marked = CORDON in labels_of(found)
        if unschedulable and -1 < self.world.uncordoned.get(node, -1) < looked:
            self.fail("cordon", f"{who} cordons {node} again after a person uncordoned it")
        stands = found["spec"].get("unschedulable", False)
        theirs = self.by_person.get(node, -1)
        if not unschedulable and stands and not marked and theirs < looked:
            self.fail("I14", f"{who} uncordons {node}, which gitbot had not cordoned")

    # What they write to the ledger

    def written(self, who: str, before: Ledger, after: Ledger) -> None:
        grown = before
        for event in after.events[len(before.events) :]:
            if isinstance(event, MoveApproved | MoveChanged):
                self._changed(who, grown, event)
            grown = Ledger(events=after.events[: event.seq], plans=after.plans, head=grown.head)

    def _changed(self, who: str, before: Ledger, event: LedgerEvent) -> None:
        assert isinstance(event, MoveApproved | MoveChanged)
        request = fold_requests(before, "prod").get(event.request)
        record = request.moves.get(event.move) if request is not None else None
        what = f"move {event.move} of {event.request}"
        if record is not None and record.final:
            self.fail("I3", f"{who} writes {event.state} for {what}, which is {record.state}")
        if event.state not in FINAL_STATES or record is None:
            return
        names = {NamespacedName.parse(name).name for name in record.effects}
        running = [item for item in self.world.unfinished() if name_of(item).name in names]
        if running:
            name = name_of(running[0]).name
            self.fail("I13", f"{who} writes {event.state} for {what}, but {name} is unfinished")
        uid = event.migration_uid
        if event.state is MoveState.SUCCEEDED and self.world.ended.get(uid) != "Succeeded":
            self.fail("I13", f"{who} writes succeeded for {what}, but {uid or 'nothing'} did not")


def _own(migration: KubernetesObject) -> bool:
    return labels_of(migration).get("app.kubernetes.io/managed-by") == "gitbot"
