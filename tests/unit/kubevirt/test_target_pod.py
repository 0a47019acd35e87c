from copy import deepcopy
from typing import Any

import pytest

from gitbot.kubernetes.objects import at, with_value
from gitbot.kubevirt.memory_overhead import memory_overhead
from gitbot.kubevirt.node_selector import launcher_node_selector
from gitbot.kubevirt.pod_defaults import ClassObjects, stored_pod
from gitbot.kubevirt.target_pod import (
    SelectorCollision,
    selector_collisions,
    source_pod,
    target_pod,
    vendor_guard_is_off,
    why_no_target,
)
from tests.unit.kubevirt.objects import Object
from tests.unit.kubevirt.recordings import essence, kubevirt_object, recorded

RECORDS: list[dict[str, Any]] = recorded("pods")["records"]
TARGETS = [record for record in RECORDS if "target_pod" in record]
SOURCES = [record for record in RECORDS if "source_pod" in record]


def classes() -> ClassObjects:
    found = recorded("pods")
    named = {
        kind: {name: {"metadata": {"name": name}, **value} for name, value in found[kind].items()}
        for kind in ("priority_classes", "runtime_classes")
    }
    return ClassObjects(priority=named["priority_classes"], runtime=named["runtime_classes"])


def surroundings(record: dict[str, Any]) -> dict[str, Any]:
    found = recorded("pods")["namespaces"].get(record["vmi"]["metadata"]["namespace"], {})
    hard = found.get("quota_hard")
    return {
        "namespace_object": {"metadata": {"labels": found.get("labels") or {}}},
        "quotas": [{"spec": {"hard": hard}}] if hard else [],
        "claims": {
            name: {"metadata": {"name": name, "uid": uid}} for name, uid in record["claims"].items()
        },
        "classes": classes(),
    }


def node_of(record: dict[str, Any]) -> dict[str, Any]:
    labels = recorded("pods")["nodes"].get(record["node"], {})
    return {"metadata": {"name": record["node"], "labels": labels}}


def target_of(record: dict[str, Any]) -> dict[str, Any]:
    return target_pod(
        vmi=record["vmi"],
        source_pod={"spec": {"nodeSelector": record["source_selector"]}},
        migration={
            "metadata": {"name": record["migration"], "uid": record["migration_uid"]},
            "spec": {"addedNodeSelector": record["added"]},
        },
        kubevirt=kubevirt_object(record["settings"]),
        source_node=node_of(record),
        **surroundings(record),
    )


def differences(got: dict[str, Any], want: dict[str, Any]) -> dict[str, Any]:
    return {
        key: (got[key], want[key])
        for key in got
        if got[key] != want[key] and (got[key] or want[key])
    }


def test_there_are_enough_recordings() -> None:
    assert len(TARGETS) == 461
    assert len(SOURCES) == 382


@pytest.mark.parametrize("settings", sorted({record["settings"] for record in TARGETS}))
def test_every_target_pod_is_the_one_that_virt_controller_made(settings: str) -> None:
    wrong = {
        record["record"]: found
        for record in TARGETS
        if record["settings"] == settings
        and (found := differences(essence(target_of(record)), record["target_pod"]))
    }
    assert wrong == {}


@pytest.mark.parametrize("settings", sorted({record["settings"] for record in SOURCES}))
def test_every_source_pod_is_the_one_that_virt_controller_made(settings: str) -> None:
    wrong = {}
    for record in SOURCES:
        if record["settings"] != settings:
            continue
        want = record["source_pod"]
        vmi = deepcopy(record["vmi"])
        vmi["status"].pop("machine", None)  # known only once the guest has booted
        labels = vmi["metadata"].get("labels") or {}
        vmi["metadata"]["labels"] = {k: v for k, v in labels.items() if k in want["labels"]}
        got = source_pod(vmi, kubevirt_object(settings), **surroundings(record))
        found = differences(essence(got), want)
        if found:
            wrong[record["record"]] = found
    assert wrong == {}


def test_storing_a_pod_twice_changes_nothing() -> None:
    for record in TARGETS[::7]:
        pod = target_of(record)
        assert stored_pod(pod, classes()) == pod


def test_a_target_that_never_came_has_the_recorded_reason() -> None:
    reasons = {}
    for record in RECORDS:
        log = at(record, "no_target", "log", default=[])
        kubevirt = kubevirt_object(record["settings"])
        node = node_of(record) if record["node"] in recorded("pods")["nodes"] else None
        reason = why_no_target(record["vmi"], kubevirt, node)
        if "target_pod" in record:
            assert reason == ""
        elif reason and at(record["vmi"], "status", "phase") == "Running":
            assert log == [reason]
            reasons[record["record"]] = reason
    assert len(reasons) == 10


def vmi(node_selector: dict[str, str] | None = None, model: str = "host-model") -> dict[str, Any]:
    return {
        "metadata": {"name": "db-1", "namespace": "shop", "uid": "u1", "labels": {"app": "db"}},
        "spec": {
            "architecture": "amd64",
            "nodeSelector": node_selector or {},
            "domain": {"cpu": {"cores": 4, "model": model}, "memory": {"guest": "2Gi"}},
        },
        "status": {"nodeName": "n1", "phase": "Running"},
    }


KUBEVIRT: dict[str, Any] = {"metadata": {"namespace": "kubevirt"}, "spec": {"configuration": {}}}
NODE = {
    "metadata": {
        "name": "n1",
        "labels": {
            "host-model-cpu.node.kubevirt.io/Icelake": "true",
            "host-model-required-features.node.kubevirt.io/mpx": "true",
            "cpu-vendor.node.kubevirt.io/Intel": "true",
        },
    }
}


def test_four_cores_and_two_gigabytes_request_what_the_talk_says() -> None:
    pod = source_pod(vmi(), KUBEVIRT)
    requests = pod["spec"]["containers"][0]["resources"]["requests"]
    assert (requests["cpu"], requests["memory"]) == ("400m", "2340Mi")


def test_a_first_migration_takes_the_cpu_of_the_node_and_a_later_one_that_of_the_pod() -> None:
    migration = {"metadata": {"name": "m", "uid": "mu"}, "spec": {}}
    first = target_pod(
        vmi=vmi(), source_pod=None, migration=migration, kubevirt=KUBEVIRT, source_node=NODE
    )
    assert first["spec"]["nodeSelector"] == {
        "kubevirt.io/schedulable": "true",
        "kubernetes.io/arch": "amd64",
        "cpu-model-migration.node.kubevirt.io/Icelake": "true",
        "cpu-feature.node.kubevirt.io/mpx": "true",
        "cpu-vendor.node.kubevirt.io/Intel": "true",
    }
    other = {"metadata": {"labels": {"host-model-cpu.node.kubevirt.io/Milan": "true"}}}
    later = target_pod(
        vmi=vmi(), source_pod=first, migration=migration, kubevirt=KUBEVIRT, source_node=other
    )
    assert later["spec"]["nodeSelector"] == {
        "kubevirt.io/schedulable": "true",
        "kubernetes.io/arch": "amd64",
        "cpu-model-migration.node.kubevirt.io/Icelake": "true",
        "cpu-feature.node.kubevirt.io/mpx": "true",
    }


COLLISIONS: list[tuple[dict[str, str], dict[str, str], tuple[SelectorCollision, ...]]] = [
    ({}, {"kubernetes.io/hostname": "n2"}, ()),
    ({"zone": "a"}, {"zone": "a"}, ()),
    ({"zone": "a"}, {"zone": "b"}, (SelectorCollision(key="zone", asked="b", wins="a"),)),
    (
        {},
        {"kubernetes.io/arch": "arm64", "x": "y"},
        (SelectorCollision(key="kubernetes.io/arch", asked="arm64", wins="amd64"),),
    ),
    (
        {},
        {"cpu-model-migration.node.kubevirt.io/Icelake": "false"},
        (
            SelectorCollision(
                key="cpu-model-migration.node.kubevirt.io/Icelake", asked="false", wins="true"
            ),
        ),
    ),
]


@pytest.mark.parametrize(("own", "added", "expected"), COLLISIONS)
def test_collisions_name_the_key_and_both_values(
    own: dict[str, str], added: dict[str, str], expected: tuple[SelectorCollision, ...]
) -> None:
    found = selector_collisions(
        vmi=vmi(own),
        source_pod=None,
        added_node_selector=added,
        kubevirt=KUBEVIRT,
        source_node=NODE,
    )
    assert found == expected


def test_a_vendor_key_switches_the_vendor_guard_off() -> None:
    added = {"cpu-vendor.node.kubevirt.io/AMD": "true"}
    assert vendor_guard_is_off(added)
    assert not vendor_guard_is_off({"zone": "a"})
    pod = target_pod(
        vmi=vmi(),
        source_pod=None,
        migration={"metadata": {"name": "m"}, "spec": {"addedNodeSelector": added}},
        kubevirt=KUBEVIRT,
        source_node=NODE,
    )
    assert "cpu-vendor.node.kubevirt.io/Intel" not in pod["spec"]["nodeSelector"]


@pytest.mark.parametrize(
    ("version", "more"),
    [("v1.7.3", 0), ("v1.9.0", 0), ("v1.10.0-alpha.0", 20), ("v2.0.0", 20), ("devel", 0)],
)
def test_the_fixed_overhead_is_that_of_the_kubevirt_that_runs(version: str, more: int) -> None:
    plain = memory_overhead(vmi(), {"status": {"observedKubeVirtVersion": "v1.8.0"}})
    found = memory_overhead(vmi(), {"status": {"observedKubeVirtVersion": version}})
    assert found - plain == more * 1024 * 1024


@pytest.mark.parametrize(
    ("version", "label"),
    [
        ("v1.6.6", "cpumanager"),
        ("v1.7.4", "cpumanager"),
        ("v1.8.0", "kubevirt.io/cpumanager"),
        ("v1.10.0", "kubevirt.io/cpumanager"),
        ("devel", "kubevirt.io/cpumanager"),
    ],
)
def test_dedicated_cpus_need_the_label_that_virt_handler_sets(version: str, label: str) -> None:
    pinned = with_value(vmi(), {"cores": 2, "dedicatedCpuPlacement": True}, "spec", "domain", "cpu")
    selector = launcher_node_selector(pinned, {"status": {"observedKubeVirtVersion": version}})
    assert [key for key in selector if "cpumanager" in key] == [label]


@pytest.mark.parametrize(("ratio", "times"), [("", 1.0), ("2", 2.0), ("much", 1.0)])
def test_the_overhead_of_a_launcher_is_multiplied_by_a_ratio(ratio: str, times: float) -> None:
    plain = memory_overhead(vmi(), KUBEVIRT)
    cluster = {"spec": {"configuration": {"additionalGuestMemoryOverheadRatio": ratio}}}
    assert abs(memory_overhead(vmi(), cluster) - plain * times) < 1000


@pytest.mark.parametrize(
    ("own", "stored"),
    [
        ({}, {"disk": "ssd"}),
        ({"disk": "hdd"}, {"disk": "hdd"}),  # the API server refuses it and says why
    ],
)
def test_a_runtime_class_adds_its_selector_and_overrules_none(own: Object, stored: Object) -> None:
    found = {"overhead": {}, "scheduling": {"nodeSelector": {"disk": "ssd"}}}
    pod = {"metadata": {}, "spec": {"runtimeClassName": "rc", "nodeSelector": own}}
    classes = ClassObjects(runtime={"rc": found})
    assert stored_pod(pod, classes)["spec"]["nodeSelector"] == stored


def test_a_pinned_image_is_looked_at_once_at_the_start() -> None:
    guest = vmi()
    guest["spec"]["volumes"] = [{"name": "root", "containerDisk": {"image": "i@sha256:1"}}]
    names = [item["name"] for item in source_pod(guest, KUBEVIRT)["spec"]["initContainers"]]
    assert names == ["guest-console-log", "volumeroot"]
