"""Several plans of one window: which of them say what becomes of its nodes."""

import pytest

from gitbot.execution.executor_types import Maintenance
from gitbot.execution.ledger_folds import fold_nodes
from tests.unit.execution.scene import OCCURRENCE, World, move


def two_plans(earlier: dict[str, str], newest: dict[str, str]) -> World:
    """One of a and c, which is empty, and one of b; `earlier` and `newest` are more terms."""
    world = World.of("a", "b", "c", "d", one="a", two="b")
    first, second = move("one", "a", "d", group="a"), move("two", "b", "d", 2, group="b")
    for moved, nodes, digest, terms in (
        (first, ("a", "c"), "sha256:0", earlier),
        (second, ("b",), "sha256:1", newest),
    ):
        world.approve(
            moved,
            request=OCCURRENCE.drain,
            digest=digest,
            maintenance=Maintenance(
                occurrence=OCCURRENCE, nodes=nodes, max_nodes_at_once=3, cordon=True
            ),
            **terms,
        )
    world.step()
    return world


@pytest.mark.parametrize(
    ("earlier", "newest", "begun"),
    [
        ({}, {}, "abc"),
        ({}, {"void": "edited"}, "ac"),
        ({}, {"paused": "nobody knows"}, "ac"),
        ({}, {"consent": "waits"}, "ac"),
        ({"void": "edited"}, {}, "b"),
        ({"paused": "nobody knows"}, {}, "b"),
        ({"consent": "waits"}, {}, "b"),
        ({"paused": "nobody knows"}, {"paused": "nobody knows"}, ""),
    ],
)
def test_a_plan_that_may_begin_nothing_neither_begins_nodes_nor_keeps_cordons_from_others(
    earlier: dict[str, str], newest: dict[str, str], begun: str
) -> None:
    world = two_plans(earlier, newest)
    nodes = fold_nodes(world.ledger, cluster="prod", occurrence=OCCURRENCE)
    assert "".join(nodes) == begun
    cordons = [item for item in world.effects if item.startswith("cordon")]
    assert sorted(cordons) == [f"cordon {name}" for name in begun]
