"""The files of deploy/patching, by tools that are played as their own sources say.

kured: cmd/kured/main.go, rebootAsRequired. system-upgrade-controller: pkg/upgrade/handle_batch.go
and pkg/upgrade/job/job.go. medik8s: README.md. Machine Config Operator:
pkg/controller/node/node_controller.go. Harvester: pkg/webhook/resources/upgrade/mutator.go. Cluster
API: docs/book, machine_deletions.md. Argo CD: docs/user-guide/sync_windows.md.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from gitbot.adapters.health_gates import HealthGates
from gitbot.calendar import Schedule, duration, occurrences
from gitbot.cli.shared.status_page import table
from gitbot.documents import read_kubernetes_yaml
from gitbot.kubernetes.labels import MANAGED_BY
from gitbot.kubernetes.objects import at, labels_of, name_of
from gitbot.model.ledger.events import NodeChanged
from gitbot.settings import HealthGateSettings
from gitbot.workflows.ask import status
from tests.contracts.cluster_server import Reply, ScriptedServer
from tests.doubles.intents import CONFIGURATION
from tests.doubles.trouble import evict_instance
from tests.scenarios.loop import Loop
from tests.scenarios.maintenance import HEAD, begun, nodes, reboot, two_nodes, until, window

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


KUBECTL = f"""#!{sys.executable}
import pathlib, sys
calls, line = pathlib.Path(__file__).parent, " ".join(sys.argv[1:])
number = len(list(calls.glob("call-*")))
(calls / f"call-{{number:02}}").write_text(line + chr(10) + sys.stdin.read())
"""  # writes down what it is asked


def test_a_node_maintenance_is_there_while_the_node_is_patched(tmp_path: Path) -> None:
    for name, text in (("kubectl", KUBECTL), ("patch", KUBECTL)):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    environment = {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "PATCH": "patch"}
    command = [str(FOLDER / "node-maintenance.sh"), "kni-worker"]
    subprocess.run(command, env=environment, check=True, stdin=subprocess.DEVNULL)
    calls = [path.read_text() for path in sorted(tmp_path.glob("call-*"))]
    asked, _, manifest = calls[0].partition("\n")
    (maintenance,) = read_kubernetes_yaml(manifest.encode(), "stdin")
    assert asked == "apply -f -"
    assert maintenance["spec"]["nodeName"] == "kni-worker"
    assert [call.splitlines()[0] for call in calls[1:]] == [
        "wait nodemaintenance/kni-worker --for jsonpath={.status.phase}=Succeeded --timeout 1h",
        "kni-worker",
        "delete nodemaintenance/kni-worker",
    ]
    (tmp_path / "patch").write_text("#!/bin/sh\nexit 1\n")
    failed = subprocess.run(command, env=environment, check=False, stdin=subprocess.DEVNULL)
    assert failed.returncode == 1
    assert len(list(tmp_path.glob("call-*"))) == 6, "the NodeMaintenance stays"


def test_the_operator_of_medik8s_uncordons_and_gitbot_sees_it(tmp_path: Path) -> None:
    loop = opened(tmp_path, done="Uncordoned")
    taint = {"key": "medik8s.io/drain", "effect": "NoSchedule"}

    def patch_nodes() -> None:
        for node in selected(loop, {"placement.gitbot.dev/state": "ready"}):
            name = name_of(node).name
            must_be_empty(loop, name)
            kept = at(node, "spec", "taints", default=[])
            loop.cluster.api.patch("Node", ("", name), {"spec": {"taints": [*kept, taint]}})
            loop.apply()
            assert nodes(loop)[name] == "ready", "the NodeMaintenance holds it"
            loop.port.sleep(300)
            loop.cluster.api.patch("Node", ("", name), {"spec": {"taints": kept or None}})
            loop.cluster.cordon(name, unschedulable=False)

    play(loop, patch_nodes)
    assert one_at_a_time(loop)


def test_the_machine_config_operator_and_gitbot_take_turns(tmp_path: Path) -> None:
    """It evicts in a freeze, once a person has merged `paused: false`; gitbot goes on later."""
    pool = dict(read("machine-config-pool.yaml")["spec"])
    freeze = (
        f"{HEAD}kind: FreezeWindow\nmetadata: {{name: pool}}\nspec:\n  reason: the pool moves\n"
        '  schedule: {start: "2026-12-01T03:00", timeZone: Europe/Madrid, duration: PT3H}\n'
    )
    text = window(drain="lead: PT1H, cordon: Gitbot, done: Rebooted", duration="PT8H")
    loop, _ = begun(tmp_path, two_nodes(), window=text, freeze=freeze)
    updated: list[str] = []

    def operator() -> None:
        for name in NODES if not pool["paused"] else ():
            loop.cluster.cordon(name)
            for vm, where in loop.where().items():
                if where == name:
                    evict_instance(loop.cluster, vm.partition("/")[2], vm.partition("/")[0])
            loop.cluster.settle()
            must_be_empty(loop, name)
            reboot(loop, name)
            loop.cluster.cordon(name, unschedulable=False)
            updated.append(name)

    operator()
    assert updated == []
    until(loop, 2.5, "the freeze has begun")
    pool["paused"] = False
    operator()
    loop.apply()
    assert updated == list(NODES)
    moved = loop.cluster.list("VirtualMachineInstanceMigration")
    assert moved
    assert not any(labels_of(one).get(MANAGED_BY) == "gitbot" for one in moved)
    pool["paused"] = True
    until(loop, 5.5, "the freeze is over")
    play(loop, lambda: reboot(loop, *(n for n, state in nodes(loop).items() if state == "ready")))


STORE = f"""#!{sys.executable}
import json, pathlib, sys
words = [word for word in sys.argv[1:] if not word.startswith("--")]
file = pathlib.Path(__file__).with_name(words[1] + ".json")
items = json.loads(file.read_text())
if words[0] == "get":
    label = [w.split("=", 1)[1] for w in sys.argv if w.startswith("--selector=")]
    pairs = [tuple(one.split("=")) for one in label]
    print(json.dumps({{"items": [
        {{"metadata": item}} for item in items
        if all(item.get("labels", {{}}).get(key) == value for key, value in pairs)]}}))
else:
    (item,) = [item for item in items if item["name"] == words[2]]
    key, is_set, value = words[3].partition("=")
    if is_set:
        item["annotations"][key] = value
    else:
        del item["annotations"][key.removesuffix("-")]
    file.write_text(json.dumps(items))
"""  # kubectl over files of metadata


def released(folder: Path, tool: str, kind: str, **objects: Any) -> list[dict[str, Any]]:
    """The objects of a kind after one run of release.py."""
    (folder / "kubectl").write_text(STORE)
    (folder / "kubectl").chmod(0o755)
    for name, items in {"nodes": objects["nodes"], kind: objects["items"]}.items():
        (folder / f"{name}.json").write_text(json.dumps(items))
    environment = {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
    command = [sys.executable, str(FOLDER / "release.py"), tool, "--context=other"]
    subprocess.run(command, env=environment, check=True)
    found: list[dict[str, Any]] = json.loads((folder / f"{kind}.json").read_text())
    return found


def emptied(name: str, state: str, **annotations: str) -> dict[str, Any]:
    return {
        "name": name,
        "labels": {"placement.gitbot.dev/state": state},
        "annotations": {f"cluster.x-k8s.io/{key}": value for key, value in annotations.items()},
    }


def test_harvester_goes_on_at_a_node_that_is_ready(tmp_path: Path) -> None:
    key = "harvesterhci.io/node-upgrade-pause-map"
    pauses = {"n1": "pause", "n2": "pause", "n3": "pause"}
    upgrade = {
        "name": "hvst-upgrade-1",
        "resourceVersion": "7",
        "labels": {"harvesterhci.io/latestUpgrade": "true"},
        "annotations": {key: json.dumps(pauses)},
    }
    nodes = [emptied("n1", "ready"), emptied("n2", "draining"), emptied("n4", "ready")]
    kind = "upgrades.harvesterhci.io"
    (found,) = released(tmp_path, "harvester", kind, nodes=nodes, items=[upgrade])
    assert json.loads(found["annotations"][key]) == {**pauses, "n1": "unpause"}
    assert released(tmp_path, "harvester", kind, nodes=nodes, items=[found]) == [found]


def test_cluster_api_goes_on_with_a_machine_whose_node_is_ready(tmp_path: Path) -> None:
    hook = "pre-drain.delete.hook.machine.cluster.x-k8s.io/gitbot"

    def machine(name: str, **more: str) -> dict[str, Any]:
        return {"name": name, "namespace": "edge", "annotations": {hook: ""}, **more}

    def node(name: str, state: str) -> dict[str, Any]:
        notes = {"cluster-namespace": "edge", "machine": f"m-{name}"}
        return emptied(name, state, **notes)

    nodes = [node("n1", "ready"), node("n2", "ready"), node("n3", "draining")]
    gone = {"deletionTimestamp": "2026-12-06T01:00:00Z"}
    machines = [machine("m-n1", **gone), machine("m-n2"), machine("m-n3", **gone)]
    kind = "machines.cluster.x-k8s.io"
    found = released(tmp_path, "cluster-api", kind, nodes=nodes, items=machines)
    assert [hook in one["annotations"] for one in found] == [False, True, True]


def test_release_says_which_tools_it_knows() -> None:
    told = subprocess.run(
        [sys.executable, str(FOLDER / "release.py"), "what"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (told.returncode, told.stderr) == (1, "which tool? harvester, cluster-api\n")


def cron_starts(schedule: str, day: date) -> bool:
    """Whether a cron expression fires on a day: by robfig/cron, days are or-ed if neither is *."""
    _, _, of_month, month, of_week = schedule.split()
    fits = [field == str(value) for field, value in
            ((of_month, day.day), (of_week, day.isoweekday() % 7)) if field != "*"]  # fmt: skip
    return month in ("*", str(day.month)) and (any(fits) or not fits)


def denied(entry: Mapping[str, Any], year: int) -> Iterator[tuple[int, int]]:
    minute, hour = map(int, entry["schedule"].split()[:2])
    length = int(entry["duration"].removesuffix("h")) * 3600
    for number in range(366):
        day = date(year, 1, 1) + timedelta(days=number)
        if cron_starts(entry["schedule"], day):
            when = datetime(
                day.year, day.month, day.day, hour, minute, tzinfo=ZoneInfo(entry["timeZone"])
            )
            yield int(when.timestamp()), int(when.timestamp()) + length


def openings(name: str, year: int) -> list[tuple[int, int]]:
    spec = read(name)["spec"]["schedule"]
    schedule = Schedule(
        start=datetime.fromisoformat(spec["start"]), time_zone=spec["timeZone"],
        duration=duration(spec["duration"]), recurrence=spec["recurrence"],
    )  # fmt: skip
    first, last = (int(datetime(y, 1, 1, tzinfo=UTC).timestamp()) for y in (year, year + 1))
    return [(one.start, one.end) for one in occurrences(schedule, after=first, before=last)]


@pytest.mark.parametrize("year", [2027, 2028])
def test_argo_cd_is_quiet_in_each_window_and_each_freeze(year: int) -> None:
    window_, freeze = read("argocd-project.yaml")["spec"]["syncWindows"]
    assert {window_["kind"], freeze["kind"]} == {"deny"}
    opened = openings("window.yaml", year)
    assert len(opened) == 12
    assert set(opened) <= set(denied(window_, year))
    assert openings("freeze.yaml", year) == list(denied(freeze, year))


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


@pytest.mark.parametrize("name", ["window.yaml", "freeze.yaml"])
def test_the_intents_are_valid(tmp_path: Path, name: str) -> None:
    (tmp_path / ".gitbot.yaml").write_text(CONFIGURATION.replace("CLUSTER", "prod"))
    intents = tmp_path / "intents" / "prod"
    intents.mkdir(parents=True)
    shutil.copy(FOLDER / name, intents)
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
