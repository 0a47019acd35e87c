"""Which groups of an approved plan are judged, on which moves, and which are proposed again."""

from typing import Any

import pytest

from gitbot.execution.executor_types import Maintenance
from gitbot.model.ledger.events import NodeChanged, NodeFacts, NodeState
from gitbot.model.ledger.ledger import node_file
from gitbot.model.plan.findings import Finding, Severity
from gitbot.model.plan.plan import Move, MoveRef, PlacementPlan
from gitbot.model.plan.problem import PlacementProblem
from gitbot.model.text.instants import Interval
from tests.unit.execution.scene import NOW, OCCURRENCE, World, move

DRAIN = OCCURRENCE.drain
LATER: dict[str, Any] = {"allowed": (Interval(start=NOW + 600, end=NOW + 6000),)}


def judged(world: World, *, together: bool = False) -> list[tuple[Move, ...]]:
    """Returns the moves of each plan that is judged; refused is every one, or all but of two."""
    asked: list[tuple[Move, ...]] = []

    def replay(problem: PlacementProblem, plan: PlacementPlan) -> tuple[Finding, ...]:
        del problem
        asked.append(plan.moves)
        found = Finding(code="constraints/landing", severity=Severity.ERROR, message="full")
        return () if not plan.moves or (together and len(plan.moves) == 2) else (found,)

    world.view["replay"] = replay
    return asked


def test_groups_that_pass_together_are_not_judged_alone() -> None:
    """One goes where the other leaves."""
    world = World.of("a", "b", one="a", two="b")
    asked = judged(world, together=True)
    world.approve(move("one", "a", "b"), move("two", "b", "a", 2, group="other"), **LATER)
    assert world.step() == ["1 approved", "2 approved"]
    assert len(asked) == 1


def test_the_first_move_of_a_vm_is_judged_from_where_it_is_and_its_second_as_planned() -> None:
    world = World.of("a", "b", "c", "d", one="d")
    asked = judged(world, together=True)
    world.approve(move("one", "a", "b"), move("one", "b", "c", 2, wave=1), **LATER)
    world.step()
    assert [[item.source.node for item in moves] for moves in asked] == [["d", "b"]]


# What goes to nodes that are away, or waits for such moves


def begun(world: World, node: str, state: NodeState) -> None:
    changed = NodeChanged(
        file=node_file("prod", OCCURRENCE),
        time=NOW,
        state=state,
        request=DRAIN,
        facts=NodeFacts(node=node),
    )
    world.ledger = world.ledger.replace(events=(*world.ledger.events, changed))


def drain(*moves: Move, state: NodeState = NodeState.READY) -> set[str]:
    """The groups that are held when every plan that is judged is refused."""
    world = World.of("a", "b", "c", "d", one="b", two="c", three="d")
    judged(world)
    begun(world, "a", state)
    world.nodes["a"]["spec"]["unschedulable"] = True
    maintenance = Maintenance(occurrence=OCCURRENCE, nodes=("a", "b", "c", "d"))
    world.approve(*moves, request="drain/fw/o1", maintenance=maintenance, **LATER)
    world.step()
    return {item.group for item in world.last.stale}


def one_to_a() -> Move:
    return move("one", "b", "a", request=DRAIN, group="b")


def two_to(to: str, **fields: Any) -> Move:
    return move("two", "c", to, 2, request=DRAIN, group="c", **fields)


@pytest.mark.parametrize(
    ("state", "groups"),
    [
        (NodeState.DRAINING, set()),
        (NodeState.READY, set()),
        (NodeState.RETURNED, {"b"}),
        (NodeState.CLOSED, {"b"}),
    ],
)
def test_what_goes_to_a_node_that_is_away_is_judged_when_it_is_back(
    state: NodeState, groups: set[str]
) -> None:
    assert drain(one_to_a(), state=state) == groups


FIRST = (MoveRef(request=DRAIN, id=1),)


@pytest.mark.parametrize(
    ("name", "fields", "groups"),
    [
        ("waits for it", {"after": FIRST}, set()),
        ("waits for another", {"after": (MoveRef(request=DRAIN, id=9),)}, {"c"}),
        ("waits for none", {"after": ()}, {"c"}),
        ("goes to the node that it leaves, when that is back", {"after_return": True}, set()),
        ("goes to that node before", {"after_return": False}, {"c"}),
        ("goes to another node, when that is back", {"after_return": True, "to": "d"}, {"c"}),
    ],
)
def test_what_rests_on_moves_that_are_not_judged_is_not_judged(
    name: str, fields: dict[str, Any], groups: set[str]
) -> None:
    second = two_to(**{"to": "b", **fields})
    assert drain(one_to_a(), second) == groups, name


def test_nor_what_rests_on_these() -> None:
    third = move("three", "d", "c", 3, request=DRAIN, group="d", after_return=True)
    assert drain(one_to_a(), two_to("b", after=FIRST), third) == set()
    assert drain(one_to_a(), two_to("b", after=()), third) == {"c", "d"}
