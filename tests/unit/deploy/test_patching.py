"""The files of deploy/patching, by tools that are played as their own sources say.

kured: cmd/kured/main.go, rebootAsRequired. system-upgrade-controller: pkg/upgrade/handle_batch.go
and pkg/upgrade/job/job.go.
"""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gitbot.adapters.health_gates import HealthGates
from gitbot.cli.shared.status_page import table
from gitbot.documents import read_kubernetes_yaml
from gitbot.kubernetes.objects import at, labels_of, name_of
from gitbot.model.ledger.events import NodeChanged
from gitbot.settings import HealthGateSettings
from gitbot.workflows.ask import status
from tests.contracts.cluster_server import Reply, ScriptedServer
from tests.doubles.intents import CONFIGURATION
from tests.scenarios.loop import Loop
from tests.scenarios.maintenance import begun, nodes, reboot, two_nodes, until, window

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "deploy" / "patching"
NODES = ("kni-worker", "kni-worker2")
ROUNDS = 12


def read(name: str) -> Mapping[str, Any]:
    found: Mapping[str, Any]
    (found,) = read_kubernetes_yaml((FOLDER / name).read_bytes(), name)
    return found


def opened(folder: Path, done: str) -> Loop:
    """A window over two nodes that each have a VM, when its lead has begun."""
    text = window(drain=f"lead: PT1H, cordon: Gitbot, done: {done}", duration="PT8H")
    loop, _ = begun(folder, two_nodes(), window=text)
    until(loop, 2, "the lead begins")
    return loop


def selected(loop: Loop, selector: Mapping[str, str]) -> list[Mapping[str, Any]]:
    return [
        node for node in loop.cluster.list("Node") if selector.items() <= labels_of(node).items()
    ]


def must_be_empty(loop: Loop, node: str) -> None:
    assert node not in loop.where().values()
    assert at(loop.cluster.get("Node", node), "spec", "unschedulable")


def play(loop: Loop, tool: Callable[[], None]) -> None:
    """Passes of gitbot and of the tool in turn, until both nodes are back."""
    for _ in range(ROUNDS):
        loop.apply()
        if list(nodes(loop).values()) == ["returned", "returned"]:
            break
        tool()
    assert nodes(loop) == dict.fromkeys(NODES, "returned")
    assert not any(at(node, "spec", "unschedulable") for node in loop.cluster.list("Node"))
    assert not any("placement.gitbot.dev/state" in labels_of(n) for n in loop.cluster.list("Node"))


def one_at_a_time(loop: Loop) -> bool:
    out: set[str] = set()
    most = 0
    for event in loop.events():
        if isinstance(event, NodeChanged):
            (out.add if event.state in ("draining", "ready") else out.discard)(event.facts.node)
            most = max(most, len(out))
    return most == 1


@pytest.mark.parametrize("remembers", [True, False])
def test_kured_reboots_only_what_is_ready(tmp_path: Path, *, remembers: bool) -> None:
    """With a lock of several owners kured does not remember that the node was cordoned."""
    pod = read("kured.yaml")["spec"]["template"]["spec"]
    loop = opened(tmp_path, done="Rebooted")
    needs = set(NODES)

    def kured() -> None:
        for node in selected(loop, pod["nodeSelector"]):
            name = name_of(node).name
            if name in needs:
                was_cordoned = remembers and bool(at(node, "spec", "unschedulable"))
                must_be_empty(loop, name)
                reboot(loop, name)
                needs.discard(name)
                if not was_cordoned:
                    loop.cluster.cordon(name, unschedulable=False)

    play(loop, kured)
    assert needs == set()
    assert one_at_a_time(loop)


def test_the_upgrade_controller_uncordons_and_gitbot_sees_it(tmp_path: Path) -> None:
    spec = read("system-upgrade-controller.yaml")["spec"]
    label = "plan.upgrade.cattle.io/k3s-workers"
    loop = opened(tmp_path, done="Uncordoned")
    upgraded: list[str] = []

    def controller() -> None:
        for node in selected(loop, spec["nodeSelector"]["matchLabels"]):
            name = name_of(node).name
            if label not in labels_of(node):
                must_be_empty(loop, name)
                loop.port.sleep(300)
                upgraded.append(name)
                loop.cluster.api.patch("Node", ("", name), {"metadata": {"labels": {label: "h"}}})
                if spec["cordon"]:
                    loop.cluster.cordon(name, unschedulable=False)

    play(loop, controller)
    assert sorted(upgraded) == list(NODES)
    assert one_at_a_time(loop)


def test_a_closed_gate_keeps_the_next_node_back(tmp_path: Path) -> None:
    codes = [200]
    with ScriptedServer(lambda _: Reply(code=codes[0])) as server:
        gate = f"healthGates: [{{name: ceph, probe: '{server.url}'}}]"
        text = window(drain="lead: PT1H, cordon: Gitbot, done: Rebooted", duration="PT8H")
        loop, _ = begun(tmp_path, two_nodes(), limits=f"{{}}\n    {gate}", window=text)
        asked: list[str] = []

        def health(settings: HealthGateSettings) -> str:
            asked.append(settings.name)
            return HealthGates()(settings)

        loop.shell = replace(loop.shell, health=health)
        loop.apply()
        assert asked == []  # the window is not open
        until(loop, 2, "the lead begins")
        loop.apply()
        assert nodes(loop) == {"kni-worker": "ready"}
        codes[0] = 503
        reboot(loop, "kni-worker")
        result = loop.apply()
        assert nodes(loop) == {"kni-worker": "returned"}
        (waiting,) = {item.reason for item in result.waiting}
        assert waiting == f"health gate ceph is closed: {server.url} answers 503"
        assert waiting in table(status(loop.shell))
        codes[0] = 200
        loop.apply()
        assert nodes(loop) == {"kni-worker": "returned", "kni-worker2": "ready"}


def test_the_window_is_valid(tmp_path: Path) -> None:
    (tmp_path / ".gitbot.yaml").write_text(CONFIGURATION.replace("CLUSTER", "prod"))
    intents = tmp_path / "intents" / "prod"
    intents.mkdir(parents=True)
    shutil.copy(FOLDER / "window.yaml", intents)
    told = subprocess.run(
        [sys.executable, "-m", "gitbot", "lint"], cwd=tmp_path,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert told.returncode == 0, told.stdout + told.stderr


@pytest.mark.slow
def test_the_script_patches_each_node_when_it_is_ready(tmp_path: Path) -> None:
    """The real script with the real `gitbot wait`; the test drives cluster and passes beside."""
    loop = opened(tmp_path, done="Rebooted")
    tree, seen = tmp_path / "tree", tmp_path / "seen"
    subprocess.run(["git", "clone", "-q", str(tmp_path / "placement.git"), str(tree)], check=True)
    seen.mkdir()
    one = tmp_path / "patch-one"
    one.write_text(f'#!/bin/sh\n: > "{seen}/$1"\n')
    one.chmod(0o755)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    script = subprocess.Popen(
        [FOLDER / "patch-nodes.sh", one, *NODES], cwd=tree, env={**os.environ, "PATH": path},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    deadline = time.monotonic() + 300
    rebooted: set[str] = set()
    while script.poll() is None and time.monotonic() < deadline:
        loop.apply()
        for name in {file.name for file in seen.iterdir()} - rebooted:
            must_be_empty(loop, name)
            reboot(loop, name)
            rebooted.add(name)
        time.sleep(1)
    said, _ = script.communicate(timeout=30)
    assert (script.returncode, rebooted) == (0, set(NODES)), said
    assert one_at_a_time(loop)
    assert said.count(": returned for ") == len(NODES)
