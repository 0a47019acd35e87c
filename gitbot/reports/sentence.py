"""What a plan does, in one sentence for the reviewer who reads nothing else."""

from __future__ import annotations

from gitbot.model.grouping import grouped
from gitbot.model.names import IntentRef
from gitbot.model.plan import Move, PlacementPlan
from gitbot.model.request_id import DrainId, HealId, ReturnId, parse_request_id
from gitbot.model.words import first_of
from gitbot.reports.diff import counted

_NAMED = 3


def sentence(plan: PlacementPlan) -> str:
    """`Empties kni-worker5: 2 VMs with 8 GiB move to sab`; "" for a plan without moves."""
    parts = [
        _part(request, moves)
        for request, moves in grouped((move.request, move) for move in plan.moves).items()
    ]
    more = f"; and {len(parts) - _NAMED} more" if len(parts) > _NAMED else ""
    return "; ".join(parts[:_NAMED]) + more


def _part(request: str, moves: tuple[Move, ...]) -> str:
    number = len({move.vm for move in moves})
    amount = f"{counted(number, 'VM')} with {size(moves)}"
    go = "moves" if number == 1 else "move"
    where = where_to(moves)
    match parse_request_id(request):
        case DrainId():
            nodes = sorted({move.group.removeprefix(f"{request}/") for move in moves})
            return f"Empties {first_of(nodes, _NAMED)}: {amount} {go}{where}"
        case ReturnId(occurrence=occurrence):
            return f"Brings {amount} home{where} after {occurrence.window}"
        case HealId():
            return f"Heals {_name(moves[0].intent)}: {amount} {go}{where}"
        case _:
            names = sorted({str(move.vm.namespaced_name) for move in moves})
            return f"Moves {first_of(names, _NAMED)} ({size(moves)}){where}"


def size(moves: tuple[Move, ...]) -> str:
    """Guest memory of the moves, `8 GiB` or `512 MiB`."""
    mebibytes = sum(move.memory_bytes for move in moves) / 2**20
    return f"{mebibytes / 1024:.4g} GiB" if mebibytes >= 1024 else f"{mebibytes:.4g} MiB"


def where_to(moves: tuple[Move, ...]) -> str:
    """` to kni-worker2`, or the zones if it is not one node; "" if neither is known."""
    nodes = sorted({move.to.node for move in moves})
    zones = sorted({move.to.zone for move in moves} - {""})
    named = nodes if len(nodes) == 1 else zones
    return f" to {first_of(named, _NAMED)}" if named else ""


def _name(ref: IntentRef) -> str:
    return f"{ref.kind} {ref.namespace}/{ref.name}"
