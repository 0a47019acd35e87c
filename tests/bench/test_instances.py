"""What the benchmarks of the planner stand on: instances, and the checker of every state."""

import gzip
import json
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from gitbot.constraints.replay.replay import replay
from gitbot.kubernetes.names import NamespacedName
from gitbot.model.plan.plan import VmRef
from gitbot.planner import make_plan
from tests.bench.instance import Checker, Instance, Move, Outcome, moves_of, problem
from tests.bench.instances import MAINTENANCE, full, maintenance, recorded
from tests.bench.peers.greedy import greedy
from tests.bench.plot import Line, log_log

SMALL = Instance(
    cpu=np.array([100, 100, 100]),
    memory=np.array([10, 10, 10]),
    zone=np.array([0, 0, 1]),
    vm_cpu=np.array([10, 10, 10, 10]),
    vm_memory=np.array([5, 4, 4, 1]),
    host=np.array([0, 1, 2, 1]),
)


@pytest.mark.parametrize(
    ("changes", "waves", "told"),
    [
        ({}, [[(0, 1)]], ""),
        ({}, [[(0, 1)], [(1, 0)]], ""),
        ({}, [[(0, 1), (1, 2)]], ""),
        ({}, [[(0, 2), (1, 2)]], "more than it has"),
        ({}, [[(0, 1), (1, 0), (2, 0)]], "more than it has"),  # both pods hold their place
        ({"apart_hosts": ((0, 2),)}, [[(0, 2)]], "gets worse"),
        ({"apart_hosts": ((0, 1),)}, [[(1, 2)], [(0, 1)]], ""),
        ({"apart_hosts": ((0, 1),)}, [[(1, 2), (0, 1)]], "gets worse"),
        ({"apart_zones": ((0, 1),)}, [[(0, 1)]], ""),  # broken before, and no worse
        ({"apart_zones": ((0, 2),)}, [[(0, 2)]], "gets worse"),
        ({"together": ((0, 1),)}, [[(0, 1)]], ""),
        ({"together": ((0, 1),)}, [[(0, 2)]], "gets worse"),
        ({"drained": (1,)}, [[(0, 1)]], "that is emptied"),
        ({}, [[(0, 1), (0, 2)]], "moves twice at once"),
    ],
)
def test_the_checker(changes: dict[str, object], waves: list[list[Move]], told: str) -> None:
    checker = Checker(replace(SMALL, **changes))  # type: ignore[arg-type]
    with pytest.raises(AssertionError, match=told) if told else nullcontext():
        for wave in waves:
            checker.carry_out(wave)


@pytest.mark.parametrize(
    "case",
    [maintenance(40), full(12, fill=0.8, drained=1), full(15, fill=0.9, drained=0, breaches=8)],
    ids=["maintenance", "full", "broken"],
)
def test_gitbot_reads_the_instance_as_the_checker_does(case: Instance) -> None:
    asked = problem(case)
    plan = make_plan(asked)
    assert replay(asked, plan) == ()
    outcome = Outcome.of(case, moves_of(plan))
    assert outcome.moves == len(plan.moves)
    assert outcome.broken == sum(rule.after > 0 for rule in plan.rules)


def test_the_peer_keeps_the_law() -> None:
    case = maintenance(100)
    moves = greedy(case)
    outcome = Outcome.of(case, [[move] for move in moves])
    assert outcome.left == len(case.displaced) - len(moves)


def test_the_same_seed_gives_the_same_instance() -> None:
    assert problem(maintenance(30)).snapshot.digest == problem(maintenance(30)).snapshot.digest
    assert (
        problem(maintenance(30)).snapshot.digest != problem(maintenance(30, seed=4)).snapshot.digest
    )
    assert len(full(15, fill=0.92, drained=0, breaches=32).broken) == 32


def test_btrplace_is_read(tmp_path: Path) -> None:
    document = {
        "model": {
            "mapping": {"onlineNodes": {"0": {"runningVMs": [1]}, "1": {"runningVMs": [0]}}},
            "views": [
                {"rcId": "uCpu", "nodes": {"0": 9, "1": 8}, "vms": {"0": 2, "1": 1}},
                {"rcId": "memory", "nodes": {"0": 7, "1": 6}, "vms": {"0": 3, "1": 4}},
                {"id": "ns"},
            ],
        },
        "constraints": [
            {"id": "spread", "vms": [0, 1]},
            {"id": "among", "vms": [1], "parts": [[1], [0]]},
            {"id": "offline", "node": 1},
            {"id": "online", "node": 0},
        ],
    }
    path = tmp_path / MAINTENANCE
    path.parent.mkdir()
    path.write_bytes(gzip.compress(json.dumps(document).encode()))
    case = recorded(tmp_path)
    assert case.size == "2 nodes, 2 VMs, 2 rules"
    assert (case.host.tolist(), case.zone.tolist(), case.drained) == ([1, 0], [1, 0], (1,))
    assert (case.cpu.tolist(), case.vm_memory.tolist()) == ([900, 800], [192, 256])


def test_a_plot_is_well_formed() -> None:
    picture = log_log([Line(name="a & b", x=[10, 1000], y=[0.02, 3.5])], x="VMs", y="seconds")
    assert ET.fromstring(picture).tag.endswith("svg")


def test_looks_at_each_move_a_few_times_in_the_replay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not once for each other move: a plan of 4,000 moves would take a minute."""
    looks: list[VmRef] = []

    def counted(vm: VmRef) -> NamespacedName:
        looks.append(vm)
        return NamespacedName(vm.namespace, vm.name)

    counts = []
    for nodes in (100, 200):
        asked = problem(maintenance(nodes))
        plan = make_plan(asked)
        with monkeypatch.context() as patch:
            patch.setattr(VmRef, "namespaced_name", property(counted))
            assert not replay(asked, plan)
        counts.append(len(looks))
        looks.clear()
    assert counts[1] < 2.5 * counts[0]
