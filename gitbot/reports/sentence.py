"""What a plan does, in one sentence for the reviewer who reads nothing else."""

from __future__ import annotations

from collections.abc import Sequence

from gitbot.model.grouping import grouped
from gitbot.model.ledger.request_id import DrainId, HealId, RequestId, ReturnId
from gitbot.model.plan.diagnosis import DIRTY_RATE, LAST_MIGRATION, Outcome
from gitbot.model.plan.plan import Drained, Move, OptimalityProof, PlacementPlan
from gitbot.model.text.names import IntentRef
from gitbot.model.text.wording import counted, first_of

_NAMED = 3
_NODES = 12
_FIVE_DIGITS = 9_999.5  # rounded to four digits it is 1e+04


def sentence(plan: PlacementPlan) -> str:
    """`Empties kni-worker5: 2 VMs with 8 GiB move to sab`; "" for a plan that does nothing."""
    parts = [
        _part(request, moves, [drain for drain in plan.drains if drain.request == request])
        for request, moves in grouped((move.request, move) for move in plan.moves).items()
    ]
    parts += [
        f"Cordons {first_of(drain.only_cordoned, _NAMED)}: no VM has to leave"
        for drain in plan.drains
        if drain.only_cordoned
    ]
    more = f"; and {len(parts) - _NAMED} more" if len(parts) > _NAMED else ""
    first, *others = parts or [""]
    return (
        "; ".join([first, *(f"{part[0].lower()}{part[1:]}" for part in others[: _NAMED - 1])])
        + more
    )


def short_drains(plan: PlacementPlan) -> list[str]:
    """For each drain that cannot be done whole, which of its nodes can be emptied."""
    return [_short(drain) for drain in plan.drains if drain.kept]


def _short(drain: Drained) -> str:
    nodes = counted(len(drain.emptied) + len(drain.kept), "node")
    if drain.could:
        return (
            f"{_drain_name(drain.request)}: its {nodes} cannot all be empty at the same time, so "
            f"none is emptied; {first_of(drain.could, _NODES)} could go without the others"
        )
    can = f": {first_of(drain.emptied, _NODES)}" if drain.emptied else ""
    return (
        f"{_drain_name(drain.request)}: {len(drain.emptied)} of {nodes} can be emptied{can};"
        f" not {first_of(drain.kept, _NODES)}"
    )


def _drain_name(request: RequestId) -> str:
    return f"window {request.occurrence.window}" if isinstance(request, DrainId) else request


def objective(plan: PlacementPlan) -> str:
    """What the planner minimised, in its order, and how near it came to the least."""
    amounts = {item.what: item.amount for item in plan.minimised}
    if not amounts:
        return ""  # a plan of an older version
    words = ", ".join(
        f"{_MINIMISED.get(what, what)} {_amount(plan, what)}".rstrip() for what in amounts
    )
    least, made, seconds = plan.bound.moves, len(plan.moves), plan.bound.seconds
    match plan.bound.proof:
        case _ if least > made:
            known = f"all that is asked needs {counted(least, 'move')} and {seconds} s or more"
        case OptimalityProof.COUNTED:
            known = f"no plan has fewer moves (each is needed), or takes less than {seconds} s"
        case OptimalityProof.SEARCHED:
            known = f"no plan has fewer moves (all were searched), or takes less than {seconds} s"
        case _:
            fewer = counted(least, "move")
            known = f"no plan has fewer than {fewer}, or takes less than {seconds} s"
    if plan.bound.proof is OptimalityProof.CUT:
        known += "; the search ended at its budget: a better plan may exist"
    return f"minimised in this order: {words}; {known}"


def _amount(plan: PlacementPlan, what: str) -> str:
    if what == "memoryBytes":
        return size(plan.moves)
    found = next(item.amount for item in plan.minimised if item.what == what)
    return "" if found is None else str(found)


_MINIMISED = {
    "newBreaches": "new rule breaks",
    "held": "VMs without a place",
    "memoryBytes": "memory",
    "softBreaches": "soft rule breaks",
    "score": "then the scheduler's score",
}


def _part(request: RequestId, moves: tuple[Move, ...], drains: Sequence[Drained]) -> str:
    number = len({move.vm for move in moves})
    amount = f"{counted(number, 'VM')} with {size(moves)}"
    go = "moves" if number == 1 else "move"
    where = where_to(moves)
    match request:
        case DrainId():
            emptied = {node for drain in drains for node in drain.emptied}
            nodes = {move.group.removeprefix(f"{request}/") for move in moves}
            together = ""
            if nodes == {request}:
                nodes = emptied.union(*(drain.kept for drain in drains))
                together = " together" if len(nodes) > 1 else ""
            else:  # VMs that move as one leave several nodes in one group
                nodes |= emptied & {move.source.node for move in moves if move.as_one}
            return f"Empties {first_of(sorted(nodes), _NAMED)}{together}: {amount} {go}{where}"
        case ReturnId(occurrence=occurrence):
            return f"Brings {amount} home{where} after {occurrence.window}"
        case HealId():
            return f"Heals {_name(moves[0].intent)}: {amount} {go}{where}"
        case _:
            names = sorted({str(move.vm.namespaced_name) for move in moves})
            return f"Moves {first_of(names, _NAMED)} ({size(moves)}){where}"


def size(moves: tuple[Move, ...]) -> str:
    """Guest memory of the moves, `8 GiB` or `512 MiB`."""
    return memory(sum(move.memory_bytes for move in moves))


def memory(amount: int) -> str:
    """Bytes as `512 MiB` or `8 GiB`; from 10,000 GiB on, which need five digits, as `12.2 TiB`."""
    mebibytes = amount / 2**20
    if mebibytes < 1024:
        return f"{mebibytes:.4g} MiB"
    gibibytes = mebibytes / 1024
    return f"{gibibytes:.4g} GiB" if gibibytes < _FIVE_DIGITS else f"{gibibytes / 1024:.4g} TiB"


def share_of(taken: int, whole: int) -> str:
    """How much of the memory is taken: `6 GiB of 8 GiB (75 %)`."""
    share = f" ({round(100 * taken / whole)} %)" if whole else ""
    return f"{memory(taken)} of {memory(whole)}{share}"


def time_known(move: Move) -> str:
    """What is known of a move's time beside the estimate: `; last took 840 s (3 moves)`."""
    said = [f"; {check.message}" for check in move.checks if check.name == LAST_MIGRATION]
    if _warns(move, DIRTY_RATE):
        said.append("; may not converge as the guest writes")
    return "".join(said)


def longer_than_estimated(moves: Sequence[Move]) -> str:
    """` (1 move took much longer before)`, and the same of what guests write; "" if none."""
    words = {LAST_MIGRATION: "took much longer before", DIRTY_RATE: "may not converge"}
    amounts = [(sum(_warns(move, name) for move in moves), said) for name, said in words.items()]
    return "".join(f" ({counted(amount, 'move')} {said})" for amount, said in amounts if amount)


def _warns(move: Move, name: str) -> bool:
    return any(check.name == name and check.outcome is Outcome.WARN for check in move.checks)


def where_to(moves: tuple[Move, ...]) -> str:
    """` to kni-worker2`, or the zones if it is not one node; "" if neither is known."""
    nodes = sorted({move.to.node for move in moves})
    zones = sorted({move.to.zone for move in moves} - {""})
    named = nodes if len(nodes) == 1 else zones
    return f" to {first_of(named, _NAMED)}" if named else ""


def _name(ref: IntentRef) -> str:
    return f"{ref.kind} {ref.namespaced}"
