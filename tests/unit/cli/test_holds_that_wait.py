"""Moves that only wait: a foreign migration, its queue, a node that was silent for a while.

`check` says until when, and passes.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from gitbot.audit.lost_nodes import lost_nodes
from gitbot.kubernetes.objects import KubernetesObject
from gitbot.kubevirt.names import HEARTBEAT, SCHEDULABLE
from tests.doubles.problems import node, problem, vm
from tests.unit.cli.desk import Said, typed
from tests.unit.cli.test_field_plans import ASKED, CONFIGURATION, DRAIN, HEAD, MOVE, migration

NOW = "2026-12-06T21:00:00Z"
NODES = node("n1"), node("n2"), node("n3")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def asked(
    command: str, intent: str, *objects: KubernetesObject | tuple[KubernetesObject, ...]
) -> Said:
    items: list[Any] = []
    for item in objects:
        items.extend(item) if isinstance(item, tuple) else items.append(item)
    folder = Path("intents/prod")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "all.yaml").write_text(HEAD + intent)
    Path(".gitbot.yaml").write_text(CONFIGURATION)
    Path("cluster.json").write_text(
        json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    )
    form = ["-o", "json"] if command == "plan" else []
    return typed(command, "--snapshot", "cluster.json", "--now", NOW, *form)


def holds(*objects: Any, intent: str = MOVE) -> dict[str, tuple[str, str]]:
    document = json.loads(asked("plan", intent, *objects).out)
    return {hold["vm"]["name"]: (hold["code"], hold.get("until", "")) for hold in document["holds"]}


def test_check_passes_and_says_until_when_while_a_foreign_migration_runs() -> None:
    vmi, pod = vm("db", on="n1", labels=ASKED)
    vmi["status"]["migrationState"] = {"sourceNode": "n1", "targetNode": "n3"}
    said = asked("check", MOVE, *NODES, (vmi, pod), migration("theirs", "db", "Running"))
    assert said.code == 0, said
    assert "waits until about Sun 2026-12-06 21:00:" in said.out
    assert "blocked: default/db" not in said.out
    assert "0 moves, 0 blocked, 1 waiting" in said.out


def test_a_migration_that_waits_in_a_queue_ends_after_those_before_it() -> None:
    others = [vm(f"other{number}", on="n1") for number in range(6)]
    foreign = [migration(f"f{number}", f"other{number}", "Pending") for number in range(5)]
    running = [migration("r", "other5", "Running")]
    queued = migration("mine", "zdb", "Pending")
    (_, alone) = holds(*NODES, vm("zdb", on="n1", labels=ASKED), queued)["zdb"]
    (code, later) = holds(
        *NODES, *others, vm("zdb", on="n1", labels=ASKED), *foreign, *running, queued
    )["zdb"]
    assert code == "in-flight"
    assert NOW < alone < later


def test_a_migration_that_cannot_start_is_waited_for_without_end() -> None:
    stuck = migration("mine", "db", "Pending", "migrationRejectedByResourceQuota")
    objects = (*NODES, vm("db", on="n1", labels=ASKED), stuck)
    assert holds(*objects) == {"db": ("in-flight", "")}
    assert asked("check", MOVE, *objects).code == 1


def test_a_drain_waits_as_a_whole_for_the_migration_that_holds_its_node() -> None:
    objects = (*NODES, vm("db", on="n1"), vm("web", on="n1"), migration("m", "db", "Scheduling"))
    found = holds(*objects, intent=DRAIN)
    assert {name: code for name, (code, _) in found.items()} == {
        "db": "in-flight",
        "web": "blocked-node",
    }
    assert found["db"][1] == found["web"][1] > NOW
    assert asked("plan", DRAIN, *objects).code == 0


def silent(since: str, *, status: str = "Unknown", key: str, seconds: int | None) -> Any:
    lost = node("n1")
    lost["status"]["conditions"] = [
        {"type": "Ready", "status": status, "lastTransitionTime": since, "reason": "Silent"}
    ]
    vmi, pod = vm("db", on="n1", labels=ASKED)
    tolerated: dict[str, Any] = {"key": key, "operator": "Exists", "effect": "NoExecute"}
    if seconds is not None:
        tolerated["tolerationSeconds"] = seconds
    pod["spec"]["tolerations"] = [tolerated]
    return lost, node("n2"), (vmi, pod)


UNREACHABLE, NOT_READY = "node.kubernetes.io/unreachable", "node.kubernetes.io/not-ready"


@pytest.mark.parametrize(
    ("status", "key"), [("Unknown", UNREACHABLE), ("False", NOT_READY), ("Unknown", "")]
)
def test_a_node_silent_for_seconds_is_waited_for_until_its_pods_go(status: str, key: str) -> None:
    objects = silent("2026-12-06T20:59:30Z", status=status, key=key, seconds=120)
    assert holds(*objects) == {"db": ("source-unreachable", "2026-12-06T21:01:30Z")}
    said = asked("check", MOVE, *objects)
    assert said.code == 0, said
    assert "waits until about Sun 2026-12-06 21:01:30 Etc/UTC: 0 moves" in said.out


def test_a_node_silent_for_longer_blocks_and_check_says_what_happens_then() -> None:
    objects = silent("2026-12-06T20:50:00Z", key=UNREACHABLE, seconds=300)
    assert holds(*objects) == {"db": ("source-unreachable", "")}
    said = asked("check", MOVE, *objects)
    assert said.code == 1
    assert "Kubernetes deletes its pod at Sun 2026-12-06 20:55 Etc/UTC (5 min ago)" in said.out
    assert "the VM starts elsewhere only once its pod is gone" in said.out


@pytest.mark.parametrize(("key", "seconds"), [(UNREACHABLE, None), (NOT_READY, 300)])
def test_no_end_is_said_for_a_pod_that_kubernetes_does_not_delete_in_time(
    key: str, seconds: int | None
) -> None:
    objects = silent("2026-12-06T20:59:30Z", key=key, seconds=seconds)
    assert holds(*objects) == {"db": ("source-unreachable", "")}


@pytest.mark.parametrize(
    ("since", "heartbeat", "until"),
    [
        ("2026-12-06T20:59:30Z", "", "2026-12-06T21:01:30Z"),
        ("2026-12-06T20:50:00Z", "", ""),
        ("", "2026-12-06T20:59:30Z", "2026-12-06T21:04:30Z"),
        ("", "2026-12-06T20:50:00Z", ""),
    ],
)
def test_a_target_that_is_silent_for_seconds_is_waited_for(
    since: str, heartbeat: str, until: str
) -> None:
    _, _, (vmi, pod) = silent(since, key=UNREACHABLE, seconds=120)
    lost = node("n2")
    if since:
        lost["status"]["conditions"] = [
            {"type": "Ready", "status": "Unknown", "lastTransitionTime": since}
        ]
        lost["spec"]["taints"] = [{"key": UNREACHABLE, "effect": "NoSchedule"}]
    if heartbeat:
        lost["metadata"]["labels"][SCHEDULABLE] = "false"
        lost["metadata"]["annotations"] = {HEARTBEAT: heartbeat}
    objects = (node("n1"), lost, (vmi, pod))
    assert holds(*objects) == {"db": ("no-feasible-node", until)}
    said = asked("check", MOVE, *objects)
    assert said.code == (0 if until else 1), said
    assert ("plan again when n2 answers" in said.out) == bool(until)


def handler(ready: str, *, status: str = "True") -> KubernetesObject:
    owners = [{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "virt-handler", "uid": "d"}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "virt-handler-x7",
            "namespace": "kubevirt",
            "uid": "handler",
            "ownerReferences": owners,
        },
        "spec": {"nodeName": "n1", "containers": [{"name": "virt-handler", "image": "x"}]},
        "status": {
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": status, "lastTransitionTime": ready}],
        },
    }


@pytest.mark.parametrize(
    ("ready", "status", "heartbeat", "until"),
    [
        ("2026-12-06T20:58:00Z", "True", "2026-12-06T20:59:30Z", "2026-12-06T21:03:00Z"),
        ("2026-12-06T20:55:00Z", "True", "2026-12-06T20:59:30Z", ""),
        ("2026-12-06T20:55:00Z", "False", "2026-12-06T20:59:30Z", "2026-12-06T21:04:30Z"),
        ("2026-12-06T20:59:50Z", "True", "2026-12-06T20:57:00Z", "2026-12-06T21:02:00Z"),
        ("never", "True", "2026-12-06T20:59:30Z", "2026-12-06T21:04:30Z"),
    ],
)
def test_device_plugins_that_do_not_get_ready_are_waited_for_five_minutes(
    ready: str, status: str, heartbeat: str, until: str
) -> None:
    quiet = node("n1", labels={SCHEDULABLE: "false"})
    quiet["metadata"]["annotations"] = {HEARTBEAT: heartbeat}
    pod = handler(ready, status=status)
    objects = (quiet, node("n2"), vm("db", on="n1", labels=ASKED), pod)
    assert holds(*objects) == {"db": ("source-unreachable", until)}
    said = asked("check", MOVE, *objects)
    assert said.code == (0 if until else 1), said
    since = "Sun 2026-12-06 20:55 Etc/UTC (5 min ago)"
    stuck = f"its device plugins are not ready (it runs since {since})"
    assert (stuck in said.out) == (not until)
    assert ("kubectl logs -n kubevirt virt-handler-x7" in said.out) == (not until)
    audited = [item.finding.message for item in lost_nodes(problem(objects).snapshot)]
    assert ["its device plugins" in message for message in audited] == [not until]


@pytest.mark.parametrize(
    ("heartbeat", "until"),
    [
        ("2026-12-06T20:59:30Z", "2026-12-06T21:04:30Z"),
        ("2026-12-06T20:55:00Z", ""),
        ("yesterday", ""),
    ],
)
def test_a_virt_handler_that_restarts_is_waited_for(heartbeat: str, until: str) -> None:
    quiet = node("n1", labels={SCHEDULABLE: "false"})
    quiet["metadata"]["annotations"] = {HEARTBEAT: heartbeat}
    objects = (quiet, node("n2"), vm("db", on="n1", labels=ASKED))
    assert holds(*objects) == {"db": ("source-unreachable", until)}
    said = asked("check", MOVE, *objects)
    assert said.code == (0 if until else 1), said
    local = f"Sun {until[:10]} {until[11:19]} Etc/UTC".replace(":00 Etc", " Etc")
    assert f"waits until about {local}" in said.out or not until
