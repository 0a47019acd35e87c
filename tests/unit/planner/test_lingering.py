"""Old launcher pods that have not ended: they hold a place, and no move of their VM frees it."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import pytest

from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import KubernetesObject
from gitbot.model.plan.constraint import Breach, NoMaximum, Occupancy
from gitbot.model.plan.problem import (
    EmptyNodes,
    Goal,
    HealRule,
    Limits,
    PlacementProblem,
    ReturnHome,
)
from gitbot.model.text.names import IntentRef
from gitbot.planner import make_plan
from gitbot.planner.plan_types import TargetPolicy, worsens
from gitbot.planner.problem_index import ProblemIndex
from gitbot.planner.search.chains import held_on
from gitbot.planner.state.blockers import blockers
from gitbot.planner.state.plan_state import PlanState
from gitbot.planner.state.residents import residents
from tests.doubles.problems import ZONE, named, node, problem, request, vm
from tests.unit.planner.reading import SPREAD, held, move, moved, planned, spread
from tests.unit.planner.test_balance import evenly

NODES = [node(f"{zone}{number}", zone=zone) for zone in "abc" for number in (1, 2)]
DB = {"app": "db"}


def migrated(
    name: str, *, source: str, target: str, ending: bool = False, **fields: Any
) -> tuple[KubernetesObject, ...]:
    """A VM that has just migrated, and its old launcher pod, which runs or terminates."""
    instance, launcher = vm(name, on=target, **fields)
    metadata = {**launcher["metadata"], "name": f"old-{name}", "uid": f"old-{name}"}
    if ending:
        metadata["deletionTimestamp"] = "2026-12-06T20:59:30Z"
    old = {**launcher, "metadata": metadata, "spec": {**launcher["spec"], "nodeName": source}}
    both = {**instance["status"]["activePods"], f"old-{name}": source}
    return ({**instance, "status": {**instance["status"], "activePods": both}}, launcher, old)


def case(*objects: Any, goals: Sequence[Goal] = (), **fields: Any) -> PlacementProblem:
    return problem([*NODES, *objects], goals=goals, **fields)


def board_of(case: PlacementProblem) -> PlanState:
    return PlanState.of(ProblemIndex.of(case))


def drain(*nodes: str, **fields: Any) -> EmptyNodes:
    return EmptyNodes(request=request("drain"), nodes=nodes, **fields)


@pytest.mark.parametrize("ending", [False, True])
@pytest.mark.parametrize(
    "goal",
    [
        move("db", labels={ZONE: "a"}),
        ReturnHome(request=request("home"), homes={named("db"): "a1"}),
        drain("c1"),
        drain("c1", "c2", away=60),
        drain("c1", block=False, cordoned_by_gitbot=True),
        evenly("db"),
    ],
)
def test_vm_whose_old_pod_is_elsewhere_is_where_it_runs(goal: Goal, ending: bool) -> None:
    plan = planned(case(migrated("db", source="c1", target="a1", ending=ending), goals=[goal]))
    assert (moved(plan), held(plan)) == ([], [])


def test_old_pod_of_a_vm_that_cannot_migrate_blocks_no_drain() -> None:
    others = vm("web", on="c1")
    stays = migrated("db", source="c1", target="a1", migratable=False)
    plan = planned(case(stays, others, goals=[drain("c1")]))
    assert [name for name, *_ in moved(plan)] == ["web"]
    assert plan.drains[0].emptied == ("c1",)


def test_vm_moves_once_although_its_old_pod_is_on_a_node_that_is_emptied_too() -> None:
    plan = planned(case(migrated("db", source="c1", target="a1"), goals=[drain("a1", "c1")]))
    assert [(name, source) for name, source, *_ in moved(plan)] == [("db", "a1")]


def wished(*extra: Any, goal: Goal) -> PlacementProblem:
    """At most one of three VMs to a zone is a wish; "one" runs in zone a, its old pod in zone b."""
    nodes = [node("a1", zone="a"), node("b1", zone="b"), node("b2", zone="b", memory="30Gi")]
    nodes += [node("b3", zone="b"), node("c1", zone="c"), node("a0", zone="c")]
    vms = [
        migrated("one", source="b1", target="a1", labels=DB, memory="40Gi"),
        vm("two", on="b2", labels=DB),
        vm("three", on="c1", labels=DB),
    ]
    return spread(problem([*nodes, *vms, *extra], goals=[goal]), required=False)


def test_wish_counts_the_old_pod_of_the_vm_that_evens_out() -> None:
    """In zone c it would be broken twice: by the VM, and by its old pod in zone b."""
    fill = [vm(f"fill-{name}", on=name, memory="200Gi") for name in ("a1", "b1", "b3")]
    assert moved(planned(wished(*fill, goal=evenly("one")))) == []


def test_wish_counts_the_old_pod_of_the_vm_that_chooses_a_node() -> None:
    found = planned(wished(goal=drain("a1")))
    assert [to for _, _, to, _ in moved(found)] == ["b3"]


@dataclass
class Asked(NoMaximum):
    """A rule that is never broken, and notes where it was asked about a VM."""

    vm: NamespacedName
    seen: list[set[str]] = field(default_factory=list)
    ref: IntentRef = SPREAD
    required: bool = True
    parts: ClassVar[tuple[object, ...]] = ()

    @property
    def members(self) -> frozenset[NamespacedName]:
        return frozenset({self.vm})

    def breaches(self, occupancy: Occupancy) -> tuple[Breach, ...]:
        self.seen.append({*occupancy[self.vm]})
        return ()

    def explain(self, vm: NamespacedName, node: str, occupancy: Occupancy) -> str:
        raise NotImplementedError


def test_step_is_judged_with_the_old_pod_in_flight_and_after_it() -> None:
    board = board_of(case(migrated("db", source="c1", target="a1")))
    rule = Asked(vm=named("db"))
    step = board.step(named("db"), "b1", TargetPolicy())
    assert worsens(rule, board.occupancy, step) == ()
    assert rule.seen == [{"a1", "c1"}, {"a1", "b1", "c1"}, {"b1", "c1"}]


def test_vm_with_an_old_pod_on_a_node_frees_nothing_there() -> None:
    board = board_of(case(migrated("db", source="c1", target="a1"), vm("web", on="c1")))
    assert held_on(board, "c1").keys() == {named("web")}
    assert held_on(board, "a1").keys() == {named("db")}
    assert residents(board, "c1") == (named("web"),)


@pytest.mark.parametrize(("home", "found"), [("c1", {named("db")}), ("a1", None)])
def test_old_pod_that_closes_a_zone_cannot_be_asked_to_leave(
    home: str, found: set[NamespacedName] | None
) -> None:
    pair = migrated("db", source="c1", target=home, labels=DB) if home != "c1" else None
    db = pair or vm("db", on="c1", labels=DB)
    board = board_of(spread(case(db, vm("web", on="b1", labels=DB))))
    assert blockers(board, named("web"), "c2", TargetPolicy(), lambda _: True) == found


def test_old_pod_is_no_running_migration() -> None:
    """Neither the planner nor the replay counts it against the limits."""
    movers = [vm(name, on="c1") for name in ("one", "two")]
    found = planned(
        case(
            migrated("db", source="c1", target="a1"),
            *movers,
            goals=[move("one", to="b1"), move("two", to="b2", name="other")],
            limits=Limits(parallel=3, per_source_node=2),
        )
    )
    assert [wave for *_, wave in moved(found)] == [0, 0]


def test_healing_says_which_pod_it_waits_for() -> None:
    objects = [migrated("v2", source="c1", target="a1", labels=DB), vm("v3", on="c1", labels=DB)]
    bare = spread(problem([*NODES[:2], node("c1", zone="c"), *objects]))
    plan = make_plan(
        replace(bare, goals=(HealRule(request=request("heal", intent=SPREAD), rule=SPREAD),))
    )
    (hold,) = [hold for hold in plan.holds if hold.code == "not-healed"]
    assert hold.hint == (
        "v2 runs on a1, but its old launcher pod on c1 still counts: plan again when it has ended"
    )
