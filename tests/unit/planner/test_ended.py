"""Somebody ends the planning: the plan is what was found until then, lawful, and says so."""

from collections.abc import Iterator

import pytest

from gitbot.constraints.replay.replay import replay
from gitbot.kubernetes.names import NamespacedName
from gitbot.model.plan.problem import EmptyNodes, Goal, MoveVms, Pin, Target
from gitbot.planner import make_plan
from gitbot.planner.proofs import prove
from gitbot.planner.proofs.capacity_model import CapacityModel
from gitbot.planner.proofs.prove import Proof
from tests.doubles.problems import node, problem, request, vm

NODES = [node(f"n{number}", zone="abc"[number % 3]) for number in range(9)]
VMS = [vm(f"vm-{number}", on=f"n{number % 3}", memory="8Gi") for number in range(12)]


class Impatient:
    """Asks to end once so many moves are planned."""

    def __init__(self, patience: int) -> None:
        self.patience = patience
        self.most = 0

    def begins(self, stage: str) -> None:
        raise AssertionError(f"a planner begins no stage: {stage}")

    def planned(self, moves: int) -> None:
        self.most = max(self.most, moves)

    def stopped(self) -> bool:
        return self.most >= self.patience


@pytest.mark.parametrize(("patience", "expected"), [(0, 0), (4, 4), (8, 8), (13, 12)])
def test_the_plan_so_far(patience: int, expected: int) -> None:
    drain = EmptyNodes(
        request=request("drain"),
        nodes=("n0", "n1", "n2"),
        max_nodes_at_once=1,
        block=True,
        cordoned_by_gitbot=True,
    )
    case = problem([*NODES, *VMS], goals=[drain])
    onlooker = Impatient(patience)
    plan = make_plan(case, onlooker=onlooker)
    assert len(plan.moves) == expected
    assert replay(case, plan) == ()
    held = {hold.vm.name for hold in plan.holds if hold.code == "interrupted"}
    assert held | {move.vm.name for move in plan.moves} == {f"vm-{n}" for n in range(12)}


def test_proofs_end_when_somebody_asks_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proof that is not made leaves its hold open: it is no claim."""
    onlooker, real = Impatient(1), prove.proofs_of

    def one_proof(
        ground: CapacityModel, goal: Goal, *vms: frozenset[NamespacedName]
    ) -> Iterator[Proof]:
        for proof in real(ground, goal, *vms):
            onlooker.most = 1  # from now on, somebody asks to end
            yield proof

    monkeypatch.setattr(prove, "proofs_of", one_proof)
    small = [node("n1", memory="64Gi"), node("n2", memory="2Gi"), node("n3", memory="2Gi")]
    vms = [vm(name, on="n1", memory="4Gi") for name in "ab"]
    asked = [
        MoveVms(
            request=request(name),
            vms=(NamespacedName(namespace="default", name=name),),
            target=Target(nodes=(to,)),
            pin=Pin.NODE,
        )
        for name, to in (("a", "n2"), ("b", "n3"))
    ]
    plan = make_plan(problem([*small, *vms], goals=asked), onlooker=onlooker)
    assert [hold.proven for hold in plan.holds] == [True, False]
