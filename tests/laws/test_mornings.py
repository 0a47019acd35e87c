"""`gitbot plan` on random mornings: no fault that the checker knows.

`python -m tests.laws.test_mornings FIRST COUNT [FOLDER]` looks for faults, and writes the smallest
morning of each into the folder.
"""

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from tests.doubles.problems import node, vm
from tests.laws.mornings import API, Document, Morning, morning
from tests.laws.mornings_checker import Answer, faults, run

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


def found(seeds: Iterable[int], most: int = 12) -> list[tuple[int, str]]:
    return [(seed, fault) for seed in seeds for fault in faults(morning(seed, most=most))]


def test_no_plan_of_a_morning_has_a_fault() -> None:
    assert found(range(8), most=4) == []


def test_what_was_found_stays_mended() -> None:
    """382: a VM that steps aside does not get the labels of the request's target; 420: evening out
    leaves the VMs of other requests where they are; 743: a request takes none of its VMs away from
    where it wants them.
    """
    assert found([382, 420, 743]) == []


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


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("first", range(0, 500, 25))
def test_no_plan_of_many_mornings_has_a_fault(first: int) -> None:
    assert found(range(first, first + 25)) == []


@pytest.mark.long
@pytest.mark.timeout(0)
@pytest.mark.parametrize("first", range(0, 200_000, 1_000))
def test_no_plan_of_very_many_mornings_has_a_fault(first: int) -> None:
    assert found(range(first, first + 1_000), most=60 if first % 10_000 == 0 else 12) == []


REMEDIES: Mapping[str, Callable[[Document], Document]] = {
    "write pin: Node": lambda spec: {**spec, "pin": "Node"},
    "notMigratable: LeaveRunning": lambda spec: {
        **spec,
        "drain": {**spec["drain"], "notMigratable": "LeaveRunning"},
    },
}
"""What a hint says, and the spec of an intent for which that is done."""


def useless(seed: int) -> list[str]:
    """The remedies of a morning's plan with which its plan still holds the VM."""
    case = morning(seed, most=6)
    found = []
    document = answered(case)
    asked = sorted(
        (hold["intent"]["name"], words)
        for hold in document.get("holds", ())
        for words in REMEDIES
        if hold["hint"].startswith(words)
    )
    for name, words in dict.fromkeys(asked):
        intents = tuple(
            {**intent, "spec": REMEDIES[words](intent["spec"])}
            if intent["metadata"]["name"] == name
            else intent
            for intent in case.intents
        )
        after = answered(replace(case, intents=intents))
        held = {(hold["intent"]["name"], hold["vm"]["name"]) for hold in after["holds"]}
        found += [
            f"{seed}: {name} with {words} still holds {hold['vm']['name']}"
            for hold in document["holds"]
            if hold["hint"].startswith(words) and hold["intent"]["name"] == name
            if (name, hold["vm"]["name"]) in held
        ]
    return found


def answered(case: Morning) -> dict[str, Any]:
    """The printed plan of a morning."""
    with TemporaryDirectory() as folder:
        case.write(Path(folder))
        document: dict[str, Any] = json.loads(run(folder)[1])
    return document


def test_a_remedy_that_is_offered_helps() -> None:
    assert [line for seed in (0, 30, 34, 78) for line in useless(seed)] == []


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_remedy_that_is_offered_on_many_mornings_helps() -> None:
    assert [line for seed in range(80, 150) for line in useless(seed)] == []


def answer(*moves: dict[str, Any], holds: Sequence[dict[str, Any]] = ()) -> Answer:
    limits = {"parallel": 2, "reserve": 1, "perSourceNode": 1, "perTargetNode": 1}
    document = {
        "limits": limits,
        "moves": moves,
        "holds": holds,
        "rules": [],
        "drains": [],
        "findings": [],
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
            for name in ("_targets", "_states", "_frozen"):
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


def look(first: int, count: int, folder: Path | None) -> None:
    for seed in range(first, first + count):
        seen = faults(morning(seed))
        for fault in seen:
            print(seed, fault, flush=True)
        if seen and folder is not None:
            shrunk(morning(seed), first_kind).write(folder / str(seed))


if __name__ == "__main__":
    look(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]) if len(sys.argv) > 3 else None)
