"""A plan has the same bytes on another machine: other cores, vector units, threads, place, time
zone, language, hash seed.

Two clusters: VMs with wishes about zones and pods, which are scored in floats; and one that is
nearly full, where VMs step aside.
"""

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from gitbot.documents import write_documents
from gitbot.model.plan.problem import EmptyNodes
from tests.bench.bench_scarce import scarce
from tests.bench.instance import problem
from tests.doubles.problems import HOSTNAME, ZONE, node, vm

NODES, GIB = 20, 64
SIZES = (2, 4, 4, 8, 8, 12, 16)
HEAD = "apiVersion: placement.gitbot.dev/v1alpha1\n"
CONFIGURATION = f"""\
{HEAD}kind: Configuration
metadata: {{name: default}}
spec:
  clusters: [{{name: lab, timeZone: Europe/Madrid}}]
  mode: Enforce
"""
WINDOW = f"""\
{HEAD}kind: MaintenanceWindow
metadata: {{name: firmware}}
spec:
  nodes: {{names: NODES}}
  drain: {{maxNodesAtOnce: 2, cordon: Gitbot}}
"""
EVEN = f"""\
---
{HEAD}kind: MigrationRequest
metadata: {{name: even, namespace: default}}
spec:
  vms: {{selector: {{matchLabels: {{app: app-2}}}}}}
  target: {{balance: Requests}}
"""
PLAN = ("plan", "--snapshot", "cluster.yaml", "--now", "2026-12-06T21:00:00Z", "-o", "json")
PROGRAM = """
import os, runpy, sys
cores = int(sys.argv.pop(1))
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
runpy.run_module("gitbot", run_name="__main__", alter_sys=True)
"""
_NUMPY = import_module("numpy._core._multiarray_umath")
VECTORS = [name for name in _NUMPY.__cpu_dispatch__ if _NUMPY.__cpu_features__.get(name)]
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")


def wishes() -> tuple[list[Any], str]:
    """Nodes that are 80 to 97 % full, with VMs that want to be spread and near each other."""
    draw = random.Random(1)
    zones = "abc"
    objects: list[Any] = [
        node(f"n{number:02}", zone=zones[number % 3], memory=f"{GIB}Gi", cpu="16")
        for number in range(NODES)
    ]
    for number in range(NODES):
        free, count = round(GIB * draw.uniform(0.80, 0.97)), 0
        while free >= SIZES[0]:
            size = draw.choice([size for size in SIZES if size <= free])
            objects += resident(f"vm-{number:02}-{count}", f"n{number:02}", size, draw)
            free, count = free - size, count + 1
    return objects, WINDOW.replace("NODES", "[n03, n11]") + EVEN


def resident(name: str, on: str, size: int, draw: random.Random) -> tuple[Any, ...]:
    chosen = {"matchLabels": {"app": f"app-{draw.randrange(3)}"}}
    wish = {"podAffinityTerm": {"topologyKey": ZONE, "labelSelector": chosen}, "weight": 37}
    return vm(
        name,
        on=on,
        memory=f"{size}Gi",
        cpu=f"{draw.randrange(100, 900)}m",
        labels={"app": f"app-{draw.randrange(9)}"},
        affinity={"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [wish]}},
        topology_spread=[
            {
                "maxSkew": 1,
                "topologyKey": key,
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": chosen,
            }
            for key in (ZONE, HOSTNAME)
        ],
    )


def aside() -> tuple[list[Any], str]:
    """A cluster in which chains of VMs that step aside need 11 moves."""
    case = scarce(35)
    assert case is not None
    asked = problem(case)
    (goal,) = (goal for goal in asked.goals if isinstance(goal, EmptyNodes))
    kinds = asked.snapshot.objects.values()
    window = WINDOW.replace("NODES", f"[{', '.join(goal.nodes)}]")
    return [obj for kind in kinds for obj in kind], window


def planned(
    folder: Path, made: tuple[list[Any], str], *, cores: int, environment: Mapping[str, str]
) -> bytes:
    """What a plan prints in a process of its own."""
    objects, intents = made
    where = folder / "intents" / "lab"
    where.mkdir(parents=True)
    (folder / ".gitbot.yaml").write_text(CONFIGURATION, encoding="utf-8")
    (where / "all.yaml").write_text(intents, encoding="utf-8")
    (folder / "cluster.yaml").write_text(write_documents(objects), encoding="utf-8")
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM, str(cores), *PLAN],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        check=False,
        timeout=100,
    )
    assert ended.returncode in (0, 1), ended.stderr.decode()
    return ended.stdout


HERE = {"PYTHONHASHSEED": "0", "TZ": "UTC", "LC_ALL": "C.UTF-8"}
THERE = {
    "PYTHONHASHSEED": "4242",
    "TZ": "Asia/Kathmandu",
    "LC_ALL": "C",
    "LANG": "tr_TR.UTF-8",
    "NPY_DISABLE_CPU_FEATURES": " ".join(VECTORS),
    **dict.fromkeys(THREADS, "1"),
}


@pytest.mark.parametrize(
    ("made", "why"),
    [
        pytest.param(wishes, "evens out", id="wishes"),
        pytest.param(aside, "steps aside", id="aside", marks=pytest.mark.slow),
    ],
)
def test_a_plan_has_the_same_bytes_elsewhere(
    tmp_path: Path, made: Callable[[], tuple[list[Any], str]], why: str
) -> None:
    here = planned(tmp_path / "here", made(), cores=64, environment=HERE)
    there = planned(tmp_path / "another place", made(), cores=1, environment=THERE)
    assert any(why in move["why"] for move in json.loads(here)["moves"])
    assert there == here
