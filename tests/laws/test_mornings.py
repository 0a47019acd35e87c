"""`gitbot plan` on random mornings: no fault that the checker knows.

`python -m tests.laws.test_mornings FIRST COUNT [FOLDER]` (`make mornings`) looks for faults, and
writes the smallest morning of each into the folder. It says how far it is: a run can be cut, and
continued from there. With `wide` before FIRST, it looks at wide mornings.
"""

import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gitbot.planner.search import budget
from tests.depth import some_at_merge
from tests.doubles.problems import HOSTNAME, ZONE, node, vm
from tests.laws.mornings import API, Morning, morning
from tests.laws.mornings_checker import Answer, faults
from tests.laws.mornings_remedies import (
    answered,
    opting_out,
    squeezed,
    still_there,
    stuck_when_rolling,
    useless,
)
from tests.laws.mornings_wide import wide_morning

CALM = Morning(
    nodes=(node("a", memory="8Gi"), node("b", memory="2Gi"), node("c", unschedulable=True)),
    vms=(
        vm("v1", on="a", namespace="team-0", memory="2Gi", labels={"app": "x"}),
        vm("v2", on="b", namespace="team-0", memory="1Gi", labels={"app": "x"}),
    ),
    strangers=(),
    limits={},
    intents=(),
)


IN = {"namespace": "team-0"}
STEP = 1_000


def drawn(seed: int) -> Morning:
    """The morning of a seed; beyond 10,000 one in fifty has up to 60 nodes."""
    return morning(seed, most=60 if seed > 10_000 and seed % 50 == 0 else 12)


def found(seeds: Iterable[int]) -> list[tuple[int, str]]:
    return [(seed, fault) for seed in seeds for fault in faults(drawn(seed))]


def test_no_plan_of_a_morning_has_a_fault() -> None:
    assert [fault for seed in range(8) for fault in faults(morning(seed, most=4))] == []


MENDED = {
    382: "a VM that steps aside does not get the labels of the request's target",
    420: "evening out leaves the VMs of other requests where they are",
    743: "a request takes none of its VMs away from where it wants them",
    2479: "no VM that made room for a request goes back to make room for a healing",
    6199: "a VM with an old launcher pod elsewhere can leave its node in a proof",
    11441: "a VM of a request may make room on one of the nodes that it asks for",
    11449: "no VM that makes room goes home again",
    12143: "no VM that makes room goes home again",
    13186: "no request moves a VM that another has just moved",
    14356: "no VM that makes room goes home again",
    16920: "a plan that moves VMs together has the words about its own moves",
    18081: "a VM that made room by going where its request wants it stays there",
    21614: "for a Preferred rule no VM steps aside to where it breaks another one",
    26598: "a node that is back stays so while a VM that made room for its drain moves",
}


@pytest.mark.parametrize("seed", MENDED)
def test_what_was_found_stays_mended(seed: int) -> None:
    assert found([seed]) == [], MENDED[seed]


def test_a_requested_vm_may_wait_outside_the_target_until_its_place_is_free() -> None:
    spec = {"vms": {"names": ["v1"]}, "target": {"nodeSelector": {"disk": "ssd"}}, "pin": "Node"}
    metadata = {"name": "q", "namespace": "team-0"}
    ask = {"apiVersion": API, "kind": "MigrationRequest", "metadata": metadata, "spec": spec}
    nodes = (node("a", memory="2Gi", labels={"disk": "ssd"}), node("b", memory="2Gi"))
    case = replace(
        CALM,
        nodes=(*nodes, node("c", memory="1Gi")),
        vms=(
            vm("v1", on="b", namespace="team-0", memory="1Gi"),
            vm("v2", on="a", namespace="team-0", memory="2Gi"),
        ),
        intents=(ask,),
    )
    paths = [(move["vm"]["name"], move["to"]["node"]) for move in answered(case)["moves"]]
    assert paths == [("v1", "c"), ("v2", "b"), ("v1", "a")]
    assert faults(case) == []


def test_moves_that_would_land_elsewhere_together_go_one_by_one() -> None:
    """In flight beside v1, v2 may also land on n3, and then v3's own spread forbids n3."""
    wanted = {"matchExpressions": [{"key": "app", "operator": "In", "values": ["x", "y"]}]}
    term = {"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": {"app": "x"}}}
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    even = {**term, "topologyKey": ZONE, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
    near = {"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": "y"}}}
    soft = [{"weight": 50, "podAffinityTerm": near}]
    rather = {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": soft}}
    some: dict[str, Any] = {"cpu": "500m", "memory": "2Gi"}
    x: dict[str, Any] = {"labels": {"app": "x"}, **IN}
    y: dict[str, Any] = {"labels": {"app": "y"}, **IN}
    case = replace(
        CALM,
        nodes=(
            node("n1", zone="z1", memory="16Gi", cpu="8", unschedulable=True),
            node("n2", zone="z2", memory="8Gi", cpu="8"),
            node("n3", zone="z3", memory="8Gi", cpu="8"),
            node("n4", zone="z0", memory="12Gi", cpu="8", unschedulable=True),
            node("n5", zone="z1", memory="12Gi", cpu="16", pods="9"),
        ),
        vms=(
            vm("v1", on="n1", affinity=rather, **some, **y),
            vm("v2", on="n2", affinity=apart, **some, **x),
            vm("v3", on="n2", topology_spread=[even], **some, **x),
            vm("v4", on="n3", memory="1Gi", namespace="team-1", labels={"app": "y"}),
            vm("v5", on="n3", memory="4Gi", cpu="500m", namespace="team-1", labels={"app": "x"}),
            vm("v6", on="n4", memory="3Gi", **y),
        ),
        intents=(
            {
                "apiVersion": API,
                "kind": "MigrationRequest",
                "metadata": {"name": "q", **IN},
                "spec": {"vms": {"selector": wanted}},
            },
        ),
    )
    assert {move["vm"]["name"] for move in answered(case)["moves"]} == {
        *("v1", "v2", "v3", "v4", "v6")
    }
    assert faults(case) == []


def test_what_was_found_on_wide_mornings_stays_mended() -> None:
    """265: what a spread counts has begun only if the moves that it waits for have ended; 106: one
    of these VMs moves twice; 201144: beside a move without a pin, another may still be in flight.
    """
    assert wide([106, 265, 201144]) == []


def wide(seeds: Iterable[int]) -> list[tuple[int, str]]:
    return [(seed, fault) for seed in seeds for fault in faults(wide_morning(seed))]


@pytest.mark.timeout(900)
@pytest.mark.parametrize("first", some_at_merge(range(0, 500, 25), 10))
def test_no_plan_of_many_wide_mornings_has_a_fault(first: int) -> None:
    assert wide(range(first, first + 25)) == []


@pytest.mark.timeout(900)
@pytest.mark.parametrize("first", some_at_merge(range(0, 2_000, 25), 40))
def test_no_plan_of_many_mornings_has_a_fault(first: int) -> None:
    assert found(range(first, first + 25)) == []


@pytest.mark.long
@pytest.mark.timeout(0)
@pytest.mark.parametrize("first", range(0, 200_000, STEP))
def test_no_plan_of_very_many_mornings_has_a_fault(first: int) -> None:
    assert found(range(first, first + STEP)) == []


def test_a_remedy_that_is_offered_helps() -> None:
    assert [line for seed in (0, 30, 34, 78) for line in useless(morning(seed, most=6))] == []


def test_a_reason_is_gone_once_a_person_did_what_it_names() -> None:
    assert [line for seed in (3, 15) for line in still_there(morning(seed, most=6))] == []


def test_more_room_and_more_nodes_help() -> None:
    """4, 5: a rule that is a wish blocks nothing; 14: two places are needed; 22: two nodes."""
    assert [line for seed in (3, 4, 5, 14, 22) for line in still_there(squeezed(seed))] == []


def test_a_vm_moves_once_its_owner_lets_it() -> None:
    assert [
        line for seed in (0, 2) for line in still_there(opting_out(morning(seed, most=6)))
    ] == []


def test_a_rolling_drain_empties_what_could_go_alone() -> None:
    assert [
        line for seed in (3, 8, 115) for line in stuck_when_rolling(morning(seed, most=6))
    ] == []


def test_a_field_that_a_hold_names_helps() -> None:
    """The two must be together, and a third VM goes between them: a hold says how long."""
    asked = {"vms": {"names": ["v1", "v2", "v3"]}, "target": {"node": "b"}}
    near = {"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": {"app": "x"}}}
    rule = {
        "selector": {"matchLabels": {"app": "x"}},
        "affinity": {"requiredDuringSchedulingIgnoredDuringExecution": [near]},
    }
    case = replace(
        CALM,
        nodes=(node("a"), node("b")),
        vms=tuple(
            vm(name, on="a", namespace="team-0", memory=memory, labels={"app": app})
            for name, memory, app in (("v1", "1Gi", "x"), ("v2", "8Gi", "x"), ("v3", "2Gi", "y"))
        ),
        limits={"parallel": 1, "reserve": 0},
        intents=tuple(
            {
                "apiVersion": API,
                "kind": kind,
                "metadata": {"name": kind.lower(), **IN},
                "spec": spec,
            }
            for kind, spec in (("PlacementRule", rule), ("MigrationRequest", asked))
        ),
    )
    hints = [hold["hint"] for hold in answered(case)["holds"]]
    assert [hint.startswith("write allowBreach: PT") for hint in hints] == [True, True]
    assert useless(case) == []


def test_a_remedy_that_was_not_tried_is_not_said_to_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    def hints() -> list[str]:
        found = (hold["hint"] for hold in answered(morning(0, most=6))["holds"])
        return [hint for hint in found if "pin: Node" in hint]

    known = hints()
    monkeypatch.setattr(budget, "PLAN_QUESTIONS", 0)
    monkeypatch.setattr(budget, "OF_VM", 0)
    unknown = hints()
    assert known
    assert all(hint.startswith("write pin: Node") for hint in known)
    assert unknown
    assert all(hint.startswith("pin: Node may help") for hint in unknown)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_remedy_that_is_offered_on_many_mornings_helps() -> None:
    assert [line for seed in range(80, 150) for line in useless(morning(seed, most=6))] == []


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_remedies_of_many_squeezed_clusters_help() -> None:
    found = [line for seed in range(25, 100) for line in still_there(squeezed(seed))]
    for seed in range(80, 120):
        case = morning(seed, most=6)
        found += [*still_there(opting_out(case)), *stuck_when_rolling(case)]
    assert found == []


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_reasons_of_many_mornings_are_gone_once_a_person_did_what_they_name() -> None:
    assert [line for seed in range(80) for line in still_there(morning(seed, most=6))] == []


def answer(*moves: dict[str, Any], holds: Sequence[dict[str, Any]] = ()) -> Answer:
    limits = {"parallel": 2, "reserve": 1, "perSourceNode": 1, "perTargetNode": 1}
    document = {
        "limits": limits,
        "moves": moves,
        "holds": holds,
        "rules": [],
        "drains": [],
        "findings": [],
        "minimised": [
            {"what": "moves", "amount": len(moves)},
            {"what": "held", "amount": len(holds)},
            {"what": "memoryBytes", "amount": sum(each["memoryBytes"] for each in moves)},
        ],
        "bound": {"proof": ""},
    }
    return Answer.of(CALM, document)


def move(name: str, source: str, target: str, **changes: Any) -> dict[str, Any]:
    return {
        "id": 1,
        "vm": {"namespace": "team-0", "name": name},
        "from": {"node": source},
        "to": {"node": target},
        "allowedNodes": [target],
        "pin": "Node",
        "addedNodeSelector": {"kubernetes.io/hostname": target},
        "intent": {"kind": "MigrationRequest", "namespace": "team-0", "name": "q"},
        "request": "request/team-0/q",
        "starts": "2026-12-06T21:00:00Z",
        "estimatedSeconds": {"v1": 52}.get(name, 36),
        "memoryBytes": {"v1": 2 * 1024**3}.get(name, 1024**3),
        "after": [],
        "wave": 0,
        "why": "asked",
        "afterReturn": False,
        **changes,
    }


LATER = "2026-12-06T21:05:00Z"
HELD = {
    "vm": {"namespace": "team-0", "name": "v2"},
    "intent": {"kind": "MigrationRequest", "namespace": "team-0", "name": "q"},
    "code": "no-feasible-node",
    "asked": True,
    "request": "request/team-0/q",
    "reason": "no node takes it",
    "hint": "",
    "nodes": [{"node": "a", "reasons": ["the anti-affinity of team-0/v1-target-1 forbids it"]}],
}


@pytest.mark.parametrize(
    ("made", "kinds"),
    [
        (answer(move("v2", "b", "a")), []),
        (answer(move("v1", "a", "b")), ["no room"]),
        (answer(move("v2", "b", "c")), ["closed node"]),
        (answer(move("v2", "a", "b")), ["wrong source", "undone"]),
        (
            answer(move("v2", "b", "a"), move("v2", "a", "b", starts=LATER)),
            ["undone"],
        ),
        (
            answer(move("v2", "b", "a"), move("v1", "a", "b")),
            ["no room", "slots"],
        ),
        (answer(move("v3", "a", "b")), ["no such VM"]),
        (answer(move("v2", "b", "a"), holds=[HELD]), ["moved and held", "phantom"]),
    ],
)
def test_the_checker_sees_what_is_wrong(made: Answer, kinds: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        if kinds == ["no such VM"]:
            for name in ("_targets", "_states", "_frozen", "_rules"):
                patch.setattr(Answer, name, lambda _: ())
        seen = {fault.partition(":")[0] for fault in made.faults()}
    assert seen == set(kinds)


def test_shrinking_leaves_what_the_fault_needs() -> None:
    whole = morning(3)

    def kind(case: Morning) -> str:
        return "many nodes" if len(case.nodes) > 2 and case.intents else ""

    small = shrunk(whole, kind)
    assert (len(small.nodes), len(small.intents)) == (3, 1)
    assert (small.vms, small.strangers, small.limits) == ((), (), {})


def shrunk(case: Morning, kind: Callable[[Morning], str]) -> Morning:
    """The smallest morning that has a fault of the same kind."""
    wanted = kind(case)
    assert wanted, "only what goes wrong can be shrunk"
    smaller = True
    while smaller:  # each round leaves something out
        smaller = False
        for candidate in case.simpler():
            if kind(candidate) == wanted:
                case, smaller = candidate, True
                break
    return case


def first_kind(case: Morning) -> str:
    seen = faults(case)
    return seen[0].partition(":")[0] if seen else ""


def look(
    first: int, count: int, folder: Path | None, *, of: Callable[[int], Morning] = drawn
) -> None:
    for seed in range(first, first + count):
        seen = faults(of(seed))
        for fault in seen:
            print(seed, fault, flush=True)
        if seen and folder is not None:
            shrunk(of(seed), first_kind).write(folder / str(seed))
        if (seed + 1) % STEP == 0:
            print(f"mornings to {seed} are done; continue from {seed + 1}", flush=True)


if __name__ == "__main__":
    _, *words = sys.argv
    which = wide_morning if words[0] == "wide" else drawn
    first, count, *where = words[words[0] == "wide" :]
    look(int(first), int(count), Path(where[0]) if where else None, of=which)
