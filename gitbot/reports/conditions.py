"""When and how a plan is carried out, in lines for people: window, cordons, deadline, queue."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from gitbot.calendar import format_duration, local_text
from gitbot.kubernetes.names import NamespacedName
from gitbot.model.grouping import grouped
from gitbot.model.ledger.request_id import RequestId
from gitbot.model.plan.diagnosis import BANDWIDTH, STORAGE, TOGETHER
from gitbot.model.plan.plan import Move, PlacementPlan
from gitbot.model.plan.problem import ALWAYS, Freeze
from gitbot.model.text.instants import FOREVER, Interval, subtract
from gitbot.model.text.wording import counted, first_of
from gitbot.reports.sentence import longer_than_estimated

UTC = "UTC"
_NAMED = 3
_LISTED = 12
_DAY = 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """Of one request of a plan. Times in seconds UTC, `zone` an IANA name.

    `open` is the opening of its window, None without one; `allowed` is when its moves may run, and
    `freezes` when some of its VMs may not move. `nodes` are emptied; the other fields are those of
    the window.
    """

    request: RequestId
    window: str = ""
    zone: str = UTC
    open: Interval | None = None
    allowed: tuple[Interval, ...] = ALWAYS
    freezes: tuple[Freeze, ...] = ()
    nodes: tuple[str, ...] = ()
    cordon: bool = False
    done: str = ""
    return_home: str = ""
    finish: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedMigration:
    """A migration that is there already. `seconds` is what it takes from its start.

    `by` says in words whose it is, "" if it is gitbot's own; `blocked` why it would not start in a
    free slot, "" if it would.
    """

    vm: NamespacedName
    runs: bool
    ours: bool
    seconds: int
    by: str = ""
    blocked: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanConditions:
    """What surrounds a plan: conditions by request, migrations in front, the cluster's `zone`.

    `unread` are kinds without an object in the files that were read.
    """

    conditions: tuple[Conditions, ...] = ()
    ahead: tuple[QueuedMigration, ...] = ()
    slots: int = 1
    zone: str = UTC
    unread: tuple[str, ...] = ()

    @property
    def front(self) -> tuple[QueuedMigration, ...]:
        """The migrations that gitbot's wait for; one that cannot start holds no slot."""
        return tuple(item for item in self.ahead if not item.blocked)

    def of(self, request: RequestId) -> Conditions:
        found = (item for item in self.conditions if item.request == request)
        return next(found, Conditions(request=request, zone=self.zone))


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadline:
    """The instant up to which a merge has its whole effect, in seconds UTC, and why then."""

    time: int
    zone: str = UTC
    why: str = field(default="then this plan expires, and a merge approves nothing")


def moment(instant: int, zone: str) -> str:
    """`Sun 2026-12-06 22:00 Europe/Madrid`."""
    return f"{local_text(instant, zone)} {zone}"


def span(interval: Interval, zone: str) -> str:
    """`Sun 2026-12-06 22:00-02:00 Europe/Madrid`."""
    begins, ends = (local_text(time, zone) for time in (interval.start, interval.end))
    short = interval.end - interval.start < _DAY
    return f"{begins}{f'-{ends.split()[-1]}' if short else f' to {ends}'} {zone}"


def starts_of(plan: PlacementPlan, move: Move) -> int:
    """The estimated start of a move, also in plans that know that of its wave only."""
    first = next((wave.starts for wave in plan.waves if wave.index == move.wave), 0)
    return move.starts or first


def binding(plan: PlacementPlan, outlook: PlanConditions, *, now: int, expires_at: int) -> Deadline:
    """The earlier of expiry and the last moment from which every move still fits its time."""
    found = [Deadline(time=expires_at, zone=outlook.zone)]
    for drain in (drain for drain in plan.drains if drain.only_cordoned):
        conditions = outlook.of(drain.request)
        end = max((item.end for item in conditions.allowed), default=FOREVER)
        words = f"later, {_what(conditions)} closes"
        found.append(Deadline(time=end, zone=conditions.zone, why=words))
    for request, moves in grouped((move.request, move) for move in plan.moves).items():
        conditions = outlook.of(request)
        begins = {move.id: starts_of(plan, move) for move in moves}
        last = _last_chance(conditions, moves, begins, now)
        if last < FOREVER:
            words = f"later, {_what(conditions)} closes before the last move "
            words += "starts" if conditions.finish else "ends"
            found.append(Deadline(time=last, zone=conditions.zone, why=words))
    return min(found, key=lambda item: item.time)


def _last_chance(
    conditions: Conditions, moves: tuple[Move, ...], begins: Mapping[int, int], now: int
) -> int:
    """When the request must begin so that each move still fits the times that its VM has."""
    first = min(begins.values())
    latest = FOREVER
    for times, some in grouped((times_of(conditions, move), move) for move in moves).items():
        starts = [begins[move.id] for move in some]
        ends = [begins[move.id] + move.estimated_seconds for move in some]
        needed = (max(starts) if conditions.finish else max(ends)) - min(starts)
        fits = [item for item in times if item.end - max(item.start, now) >= needed]
        end = max((item.end for item in fits or times), default=FOREVER)
        if end < FOREVER:
            latest = min(latest, end - needed - (min(starts) - first))
    return latest


def times_of(conditions: Conditions, move: Move) -> tuple[Interval, ...]:
    """When the move may run: the time of its request, without the freezes of its VM."""
    vm = move.vm.namespaced_name
    frozen = [time for item in conditions.freezes if vm in item.vms for time in item.times]
    return subtract(conditions.allowed, tuple(frozen))


def _what(conditions: Conditions) -> str:
    return conditions.window or "the time of the request"


def lines(
    plan: PlacementPlan, outlook: PlanConditions, *, deadline: Deadline, bandwidth: int
) -> Iterator[tuple[str, str]]:
    """Label and text of each line, in the order in which a reviewer needs them."""
    requests: dict[RequestId, tuple[Move, ...]] = {
        drain.request: () for drain in plan.drains if drain.only_cordoned
    }
    requests |= grouped((move.request, move) for move in plan.moves)
    if not requests:
        return
    for request, moves in list(requests.items())[:_NAMED]:
        ends = max((starts_of(plan, move) + move.estimated_seconds for move in moves), default=0)
        yield from _of_request(outlook.of(request), moves, plan.snapshot.taken_at, ends=ends)
    if len(requests) > _NAMED:
        yield "and", f"{len(requests) - _NAMED} more requests, each in its own time"
    if deadline.time < FOREVER:
        yield "approve before", f"{moment(deadline.time, deadline.zone)}: {deadline.why}"
    if not plan.moves:
        return
    starts = min(wave.starts for wave in plan.waves)
    ends = max(wave.ends for wave in plan.waves)
    took = f"{format_duration(ends - starts)} for {counted(len(plan.moves), 'move')}"
    minutes = Interval(start=starts // 60 * 60, end=-(-ends // 60) * 60)
    when = span(minutes, outlook.zone)
    later = behind(outlook, starts=starts, now=plan.snapshot.taken_at)
    shift = f", up to {format_duration(later)} later behind the queue" if later else ""
    yield "estimate", f"{took}, {when}{shift}, {estimated_at(plan.moves, bandwidth)}"
    yield from _landings(plan.moves)
    ones = (check.message for move in plan.moves for check in move.checks if check.name == TOGETHER)
    for words in dict.fromkeys(ones):
        yield "together", words
    yield from _not_known(outlook.unread)
    yield "queue now", queue_words(outlook, starts=starts, now=plan.snapshot.taken_at)
    yield "if a move fails", IF_IT_FAILS


def estimated_at(moves: Sequence[Move], bandwidth: int) -> str:
    """What the estimate of these moves rests on; `bandwidth` in bytes a second."""
    slow = sum(any(check.name == BANDWIDTH for check in move.checks) for move in moves)
    less = f" ({counted(slow, 'move')} slower, as KubeVirt allows less)" if slow else ""
    heavy = sum(any(check.name == STORAGE for check in move.checks) for move in moves)
    less += f" ({counted(heavy, 'move')} with volumes that change their storage)" if heavy else ""
    less += longer_than_estimated(moves)
    return f"at {bandwidth // 2**20} MiB/s a migration{less}"


def _not_known(unread: Sequence[str]) -> Iterator[tuple[str, str]]:
    """What plain files lack that each plan depends on."""
    for kind, plural, words in _PLANNED_BY:
        if kind in unread:
            adds = f"`kubectl get {plural} -A -o yaml` adds it"
            yield "not known", f"the files have no {kind}, so {words}; {adds}"


_PLANNED_BY = (
    ("KubeVirt", "kubevirts", "its limits and settings count as the defaults"),
    ("MigrationPolicy", "migrationpolicies", "moves may take longer than estimated"),
    ("ResourceQuota", "resourcequotas", "a quota may keep target pods from being created"),
)


def _landings(moves: Sequence[Move]) -> Iterator[tuple[str, str]]:
    """The nodes among which the scheduler chooses, of moves without a pin to one node."""
    free = (move for move in moves if len(move.allowed_nodes) > 1)
    groups = grouped((move.allowed_nodes, str(move.vm.namespaced_name)) for move in free)
    for nodes, vms in list(groups.items())[:_NAMED]:
        words = f"{first_of(vms, _NAMED)}: {first_of(nodes, _LISTED)}"
        yield "may land", f"{words}, as the scheduler chooses; no Required rule breaks on any"
    if len(groups) > _NAMED:
        yield "may land", f"{len(groups) - _NAMED} more sets of nodes: allowedNodes of -o json"


def further_merges(*, home: bool, begins: int, announced: int, now: int, zone: str) -> str:
    """What the plan of a window needs beside the merge that approves it, and by when; or "".

    `home`: a pull request brings the VMs back. `announced`: from when on gitbot proposes its moves
    again, if the cluster has changed, which may run from `begins` on (seconds UTC).
    """
    found = ["one more merge brings the VMs home once the nodes are back"] if home else []
    if now < announced:
        since, until = local_text(announced, zone), local_text(begins, zone)
        found.append(
            f"one more may be needed from {since} to {until} {zone}, if the cluster changes before"
        )
    return "; ".join(found)


def merges_after(plan: PlacementPlan, outlook: PlanConditions, *, announce: int, now: int) -> str:
    """What the windows of a plan need beside its merge; the one that begins first says so."""
    moved = {move.request for move in plan.moves}
    due = {*moved, *(drain.request for drain in plan.drains if drain.only_cordoned)}
    drains = [item for item in outlook.conditions if item.nodes and item.request in due]
    if not drains:
        return ""
    first = min(drains, key=lambda item: min(time.start for time in item.allowed))
    begins = min(time.start for time in first.allowed)
    return further_merges(
        home=any(item.return_home == "Propose" for item in drains if item.request in moved),
        begins=begins,
        announced=begins - announce,
        now=now,
        zone=first.zone,
    )


IF_IT_FAILS = (
    "its VM keeps running where it is, the rest of its group is withdrawn, and gitbot proposes what"
    " is left"
)


def freezes_ahead(
    item: Conditions, vm: NamespacedName, *, now: int
) -> tuple[tuple[Freeze, Interval], ...]:
    """The freezes that keep a VM from moving, from when its request may run on, one after another.

    `now` in seconds UTC. Empty if the VM may move as soon as the request allows it.
    """
    begins = min((max(time.start, now) for time in item.allowed if time.end > now), default=now)
    found: list[tuple[Freeze, Interval]] = []
    spans = sorted(
        ((time, freeze) for freeze in item.freezes if vm in freeze.vms for time in freeze.times),
        key=lambda pair: (pair[0], pair[1].intent),
    )
    for time, freeze in spans:
        if time.contains(begins):
            found.append((freeze, time))
            begins = time.end
    return tuple(found)


def frozen_words(freeze: Freeze, time: Interval, zone: str, *, now: int) -> str:
    """`frozen by quarter-close until Tue 2026-12-01 06:00 Europe/Madrid: books close`."""
    ahead = f" from {moment(time.start, zone)}" if time.start > now else ""
    until = ahead or ("" if time.end >= FOREVER else f" until {moment(time.end, zone)}")
    why = f": {freeze.reason}" if freeze.reason else ""
    return f"frozen by {freeze.intent.name}{until}{why}"


def _frozen(item: Conditions, moves: tuple[Move, ...], now: int) -> Iterator[tuple[str, str]]:
    vms = [move.vm.namespaced_name for move in moves]
    frozen = grouped(
        (frozen_words(freeze, time, item.zone, now=time.start), str(vm))
        for vm in vms
        for freeze, time in freezes_ahead(item, vm, now=now)
    )
    for words, some in frozen.items():
        which = f" ({first_of(some, _NAMED)})" if len(some) < len(vms) else ""
        yield "waits", f"{words}{which}"


def _late(start: int, ends: int) -> str:
    """That the moves of a window with a lead will not be done when it opens."""
    if ends <= start:
        return ""
    return f", but the last is done about {format_duration(ends - start)} after the start"


def _of_request(
    item: Conditions, moves: tuple[Move, ...], now: int, *, ends: int
) -> Iterator[tuple[str, str]]:
    """`ends`: when the last of the moves is done, as estimated."""
    if item.open is not None:
        if item.open.end == FOREVER:
            end = "its nodes are back" if item.nodes else "it is removed"
            yield "window", f"{item.window}: open from the merge of its file until {end}"
        else:
            first = min(time.start for time in item.allowed)
            lead = f"; moves may run from {local_text(first, item.zone)} on"
            early = f"{lead}{_late(item.open.start, ends)}" if first < item.open.start else ""
            yield "window", f"{item.window}: {span(item.open, item.zone)}{early}"
    elif item.allowed != ALWAYS:
        first, last = min(t.start for t in item.allowed), max(t.end for t in item.allowed)
        until = "" if last == FOREVER else f" until {moment(last, item.zone)}"
        since = f"from {moment(first, item.zone)}" if first else "at once"
        yield "time", f"{since}{until}"
    yield from _frozen(item, moves, now)
    if item.nodes:
        yield "cordon", _cordon_words(item, moves)
        yield "home", _home_words(item, moves)


def acts(item: Conditions) -> str:
    """From when on a window acts, for one line."""
    forever = item.open is not None and item.open.end == FOREVER
    first = min(time.start for time in item.allowed)
    when = "its merge" if forever else f"{local_text(first, item.zone)} {item.zone}"
    return f"window {item.window} acts from {when} on"


def _cordon_words(item: Conditions, moves: tuple[Move, ...]) -> str:
    nodes = first_of(item.nodes, _NAMED)
    each = "it is" if len(item.nodes) == 1 else "each is"
    reported = f"a person types `gitbot returned {item.nodes[0]}`"
    if not item.cordon:
        back = {
            "Rebooted": "Ready after a reboot, and schedulable",
            "Command": f"back when {reported}",
        }.get(item.done, "back when it is Ready and uncordoned")
        return f"gitbot cordons nothing: cordon {nodes} before the start; {each} {back}"
    back = {
        "Rebooted": "gitbot uncordons it when it is Ready after a reboot",
        "Command": f"gitbot uncordons it after {reported}",
    }.get(item.done, "a person uncordons it, which says that it is back")
    each = "" if len(item.nodes) == 1 else ", each"
    left = {move.source.node for move in moves}
    if not left:
        when = "from the merge on" if item.allowed == ALWAYS else "when the window opens"
        return f"gitbot cordons {nodes} {when}, as no VM has to leave; {back}"
    empty = "" if left.issuperset(item.nodes) else ", and an empty one in its turn"
    return f"gitbot cordons {nodes}{each} before the first move off it{empty}; {back}"


def _home_words(item: Conditions, moves: tuple[Move, ...]) -> str:
    if item.return_home == "Never":
        return "nothing comes back: the VMs stay where they land (returnHome: Never)"
    leaving = grouped((move.source.node, move.vm) for move in moves)
    homes = [
        f"{node} ({counted(len(set(leaving[node])), 'VM')})"
        for node in item.nodes
        if node in leaving
    ]
    if not homes:
        return "no VM leaves its node, so none comes back"
    how = (
        "gitbot brings them back without another pull request"
        if item.return_home == "Auto"
        else "a pull request of its own brings them back"
    )
    return f"{first_of(homes, _NAMED)}; once the node is back, {how}"


def queue_words(outlook: PlanConditions, *, starts: int, now: int) -> str:
    """The migrations in front of the plan's, and when they are through at the same estimate.

    Only virt-controller may set a priority (KubeVirt, migration-create-admitter.go).
    """
    last = "gitbot's have no priority: they queue behind evacuations and upgrades"
    stuck = [item for item in outlook.ahead if item.blocked]
    if stuck:
        named = grouped((item.blocked, str(item.vm)) for item in stuck)
        why = "; ".join(f"{first_of(vms, 3)} ({words})" for words, vms in sorted(named.items()))
        hold = "cannot start and hold" + "s" * (len(stuck) == 1)
        last = f"{counted(len(stuck), 'migration')} {hold} no slot: {why}; {last}"
    front = outlook.front
    if not front and "VirtualMachineInstanceMigration" in outlook.unread:
        command = "`kubectl get virtualmachineinstancemigrations -A -o yaml`"
        return f"the files have no migration; {command} adds those that run or wait; {last}"
    if not front:
        return f"empty: no migration runs or waits{' for a slot' if stuck else ''}; {last}"
    later = behind(outlook, starts=starts, now=now)
    names = first_of([_ahead_words(item) for item in front], 3)
    others = sum(not item.ours for item in front)
    whose = f"{others} of others" if others else "all gitbot's own"
    done = "gitbot's wait for a slot" if later else "before the first move starts"
    amount, through = counted(len(front), "migration"), format_duration(_through(front, outlook))
    return f"{amount} in front ({whose}: {names}), through in about {through}: {done}; {last}"


def _ahead_words(item: QueuedMigration) -> str:
    whose = f" for {item.by}" if item.by else ""
    return f"{item.vm} {'runs' if item.runs else 'is queued'}{whose}"


def behind(outlook: PlanConditions, *, starts: int, now: int) -> int:
    """Seconds by which the first move may start later than planned, because of those in front."""
    front = outlook.front
    return max(0, now + _through(front, outlook) - starts) if front else 0


def _through(front: Sequence[QueuedMigration], outlook: PlanConditions) -> int:
    """Seconds until all in front have ended: as many at once as the cluster allows."""
    slots = [0] * outlook.slots
    for item in sorted(front, key=lambda item: (not item.runs, str(item.vm))):
        free = slots.index(min(slots))
        slots[free] += item.seconds
    return max(slots)
