from gitbot.constraints.moves.instances import Instances
from gitbot.kubernetes.names import NamespacedName
from gitbot.model.plan.plan import PlacementPlan
from gitbot.model.plan.problem import MoveVms, Pin, PlacementProblem, Target
from gitbot.planner import make_plan
from gitbot.snapshot import from_objects
from gitbot.workflows.check.scope import apply_plan_to_snapshot
from tests.doubles.problems import NOW, named, node, request, vm

SNAPSHOT = from_objects(
    "c",
    [
        node("n1", zone="a"),
        node("n2", zone="b"),
        *vm("web", on="n1"),
        *vm("db", on="n1"),
    ],
    NOW,
)


def plan() -> PlacementPlan:
    goal = MoveVms(
        request=request(), vms=(named("web"),), target=Target(nodes=("n2",)), pin=Pin.NODE
    )
    return make_plan(PlacementProblem(cluster="c", now=NOW, snapshot=SNAPSHOT, goals=(goal,)))


def test_moved_vms_stand_on_their_targets_and_nothing_else_changes() -> None:
    after = apply_plan_to_snapshot(SNAPSHOT, plan())
    before = Instances(SNAPSHOT).occupancy()
    assert before[named("web")] == frozenset({"n1"})
    assert Instances(after).occupancy() == {**before, named("web"): frozenset({"n2"})}
    pods = {pod["metadata"]["name"]: pod["spec"]["nodeName"] for pod in after.of("Pod")}
    assert sorted(pods.values()) == ["n1", "n2"]
    db = NamespacedName(namespace="default", name="db")
    kind = "VirtualMachineInstance"
    assert after.find(kind, db) == SNAPSHOT.find(kind, db)
    assert after.of("Node") == SNAPSHOT.of("Node")


def test_a_plan_without_moves_changes_nothing() -> None:
    assert apply_plan_to_snapshot(SNAPSHOT, PlacementPlan(cluster="c")) is SNAPSHOT
