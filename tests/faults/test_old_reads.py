"""Lists that are old, or lack most of the cluster: nothing is concluded from them."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from gitbot.errors import SnapshotError
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.workflows.apply import apply
from gitbot.workflows.apply.snapshot_sanity import PATIENCE, SnapshotSanity
from tests.doubles.moves import a_move
from tests.doubles.stage import Stage, a_plan

REQUEST = "request/db/one"


def a_stage() -> Stage:
    stage = Stage.of(nodes={"a": "east", "b": "east", "c": "west"}, vms={"one": "a", "two": "b"})
    stage.approve(a_plan(a_move("one", "a", "c")))
    return stage


def shows(stage: Stage, change: Callable[[ClusterSnapshot], ClusterSnapshot], looks: int) -> None:
    """After the migration is created, some looks at the cluster show something else."""
    real, left = stage.cluster.snapshot, [looks]

    def snapshot() -> ClusterSnapshot:
        found = real()
        if stage.cluster.creates() and left[0]:
            left[0] -= 1
            return change(found)
        return found

    stage.cluster.snapshot = snapshot  # type: ignore[method-assign]


def without(kind: str) -> Callable[[ClusterSnapshot], ClusterSnapshot]:
    return lambda found: replace(found, objects={**found.objects, kind: ()})


def before_it_was_created(stage: Stage) -> Callable[[ClusterSnapshot], ClusterSnapshot]:
    old = stage.cluster.snapshot()
    return lambda _: old


def restarted(found: ClusterSnapshot) -> ClusterSnapshot:
    """The VM under another UID, as it was a day ago."""
    instances = tuple(
        {**item, "metadata": {**item["metadata"], "uid": "of-yesterday"}}
        for item in found.of("VirtualMachineInstance")
    )
    return replace(found, objects={**found.objects, "VirtualMachineInstance": instances})


CHANGES: dict[str, Callable[[Stage], Callable[[ClusterSnapshot], ClusterSnapshot]]] = {
    "older than the create": before_it_was_created,
    "no migration": lambda _: without("VirtualMachineInstanceMigration"),
    "no VMI": lambda _: without("VirtualMachineInstance"),
    "no node": lambda _: without("Node"),
    "another UID": lambda _: restarted,
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_wrong_list_ends_no_move(change: str) -> None:
    stage = a_stage()
    shows(stage, CHANGES[change](stage), looks=3)
    assert apply(stage.shell).states == {"succeeded": 1}
    assert stage.states(REQUEST)[-1] == "1 succeeded"
    assert len(stage.cluster.creates()) == 1
    assert stage.cluster.where() == {"one": "c", "two": "b"}
    doubted = change in ("no VMI", "no node")
    assert any(line.startswith("looks again: ") for line in stage.lines) is doubted


def test_a_cluster_without_any_node_is_an_error_and_no_conclusion() -> None:
    stage = a_stage()
    shows(stage, without("Node"), looks=-1)
    with pytest.raises(SnapshotError, match="no node at all"):
        apply(stage.shell)
    assert stage.states(REQUEST)[-1] in ("1 intended", "1 created")


def snapshot_of(*nodes: str, version: str = "") -> ClusterSnapshot:
    found = Stage.of(nodes=dict.fromkeys(nodes, "east"), vms={}).cluster.snapshot()
    return replace(found, resource_version=version)


def test_resource_versions_never_go_back() -> None:
    belief = SnapshotSanity()
    assert belief.doubt(snapshot_of("a", version="100"), 1) == ""
    assert "older state (99)" in belief.doubt(snapshot_of("a", version="99"), 2)
    assert belief.doubt(snapshot_of("a", version="100"), 3) == ""
    assert belief.doubt(snapshot_of("a", version="99"), 4)
    with pytest.raises(SnapshotError):
        belief.doubt(snapshot_of("a", version="99"), 4 + PATIENCE)


def test_fewer_nodes_are_believed_after_a_while() -> None:
    belief = SnapshotSanity()
    assert belief.doubt(snapshot_of("a", "b", "c"), 1) == ""
    assert belief.doubt(snapshot_of("a", "b"), 2) == ""
    assert belief.doubt(snapshot_of("a", "b", "c", "d", "e"), 3) == ""
    assert "2 nodes, a moment ago it had 5" in belief.doubt(snapshot_of("a", "b"), 4)
    assert belief.doubt(snapshot_of("a", "b"), 3 + PATIENCE)
    assert belief.doubt(snapshot_of("a", "b"), 4 + PATIENCE) == ""
    assert belief.doubt(snapshot_of("a", "b"), 5 + PATIENCE) == ""
