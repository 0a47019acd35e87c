"""Nodes, pods, quantities and selectors as they come out of JSON."""

from typing import Any

import pytest

from gitbot.constraints.moves.target_pod import target_of
from gitbot.constraints.scheduler.filters.quota import quotas_of
from gitbot.constraints.scheduler.world import World
from gitbot.errors import SnapshotError
from gitbot.kubernetes.quantities import milli, units_of, whole
from gitbot.kubernetes.selectors import LabelMatcher, Requirement, parse_int64
from gitbot.kubevirt.limits import limits_of
from gitbot.model.cluster.node import Node
from gitbot.model.cluster.pod import Pod
from gitbot.model.cluster.scheduling import HostPort, Taint, Toleration
from tests.unit.constraints.builders import machine, node, pod, snapshot, vm_name, zones


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", 0),
        ("1", 1000),
        ("500m", 500),
        ("1.5", 1500),
        ("100u", 1),
        ("1n", 1),
        (".5", 500),
        ("2.", 2000),
        (2, 2000),
        (0.1, 100),
        ("1e3", 1_000_000),
        ("1E-3", 1),
        ("-1", -1000),
    ],
)
def test_cpu_is_milli_rounded_up(text: Any, expected: int) -> None:
    assert milli(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1Ki", 1024),
        ("1.5Gi", 3 * 2**29),
        ("128974848", 128974848),
        ("129e6", 129_000_000),
        ("129M", 129_000_000),
        ("1E", 10**18),
        ("8Ei", 2**63 - 1),
        ("100m", 1),
        ("0.1Ki", 103),
        ("123456789012345678901", 123456789012345678901),
    ],
)
def test_bytes_are_whole_rounded_up_and_exact(text: str, expected: int) -> None:
    assert whole(text) == expected
    assert expected >= 2**61 or units_of("memory", text) == expected


@pytest.mark.parametrize(
    ("resource", "text", "expected"),
    [("cpu", "2E", 0), ("memory", "10E", 0), ("memory", "9Ei", 2**61), ("memory", "2Ei", 2**61)],
)
def test_amounts_that_no_int64_holds_are_the_schedulers(
    resource: str, text: str, expected: int
) -> None:
    """An overflow is 0; what Kubernetes caps stays large, but adds up."""
    assert units_of(resource, text) == expected


@pytest.mark.parametrize(
    "text",
    ["", "Gi", "1 Gi", "1gi", "1_000", "0x10", "1e1000", "\u0661", "--1", "9" * 5000, "1:" * 5000],
)
def test_what_is_no_quantity_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a Kubernetes quantity") as found:
        whole(text)
    assert len(str(found.value)) < 200


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("7", 7),
        ("007", 7),
        ("-7", -7),
        ("9223372036854775807", 2**63 - 1),
        ("9223372036854775808", None),
        ("7.0", None),
        (" 7", None),
        ("1_0", None),
        ("\u0667", None),
        ("", None),
    ],
)
def test_int64_is_what_go_reads(text: str, expected: int | None) -> None:
    assert parse_int64(text) == expected


@pytest.mark.parametrize(
    ("expression", "accepted", "refused"),
    [
        ({"operator": "In", "values": ["a", ""]}, ["a", ""], ["b", None]),
        ({"operator": "NotIn", "values": ["a"]}, ["b", "", None], ["a"]),
        ({"operator": "Exists"}, ["", "x"], [None]),
        ({"operator": "DoesNotExist"}, [None], ["", "x"]),
        ({"operator": "Gt", "values": ["4"]}, ["5", "0005"], ["4", "x", "5.5", None]),
        ({"operator": "Lt", "values": ["4"]}, ["3", "-9"], ["4", "", None]),
        ({"operator": "In", "values": []}, [], ["a", None]),
        ({"operator": "Exists", "values": ["x"]}, [], ["x", None]),
        ({"operator": "Near", "values": ["x"]}, [], ["x", None]),
        ({}, [], ["x", None]),
    ],
)
def test_requirements(
    expression: dict[str, Any], accepted: list[str | None], refused: list[str | None]
) -> None:
    found = Requirement.of({"key": "k", **expression})
    assert [value for value in accepted if not found.accepts(value)] == []
    assert [value for value in refused if found.accepts(value)] == []


def test_selectors_of_nothing_and_of_everything() -> None:
    assert not LabelMatcher.of(None).matches({})
    assert LabelMatcher.of({}).matches({"a": "b"})
    assert LabelMatcher.of({}).everything
    assert not LabelMatcher.of(None).everything
    both = {"matchLabels": {"a": "1"}, "matchExpressions": [{"key": "b", "operator": "Exists"}]}
    assert LabelMatcher.of(both).matches({"a": "1", "b": ""})
    assert not LabelMatcher.of(both).matches({"a": "1"})


@pytest.mark.parametrize(
    ("toleration", "tolerated"),
    [
        ({}, False),  # an empty one matches taints with an empty value only
        ({"operator": "Exists"}, True),
        ({"key": "k", "value": "v"}, True),
        ({"key": "k", "operator": "Equal", "value": "w"}, False),
        ({"key": "k", "operator": "Exists", "effect": "NoExecute"}, False),
        ({"key": "k", "operator": "Exists", "tolerationSeconds": 0}, True),
        ({"key": "k", "operator": "Gt", "value": "1"}, False),
        ({"key": "other", "operator": "Exists"}, False),
    ],
)
def test_tolerations(toleration: dict[str, Any], tolerated: bool) -> None:
    taint = Taint(key="k", value="v", effect="NoSchedule")
    assert Toleration.of(toleration).tolerates(taint) is tolerated


def test_host_ports_of_containers_and_sidecars_but_not_of_init_containers() -> None:
    port = {"ports": [{"hostPort": 80}]}
    spec = {
        "containers": [{"name": "c", "ports": [{"containerPort": 1, "hostPort": 443}]}],
        "initContainers": [{**port, "restartPolicy": "Always"}, {"ports": [{"hostPort": 81}]}],
    }
    found = Pod.from_object({"metadata": {"name": "p"}, "spec": spec})
    assert [item.port for item in found.ports] == [80, 443]
    anywhere = HostPort(ip="0.0.0.0", protocol="TCP", port=80)
    assert found.ports[0] == anywhere
    assert anywhere.clashes(HostPort(ip="10.0.0.1", protocol="TCP", port=80))
    assert not anywhere.clashes(HostPort(ip="10.0.0.1", protocol="UDP", port=80))


@pytest.mark.parametrize(
    ("obj", "words"),
    [
        ({"metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "many"}}}, "Node n cannot"),
        ({"metadata": {"name": "n"}, "spec": {"taints": ["x"]}}, "Node n cannot be read"),
        ({"metadata": {"name": "n"}, "status": {"allocatable": []}}, "Node n cannot be read"),
    ],
)
def test_a_malformed_node_is_named(obj: dict[str, Any], words: str) -> None:
    with pytest.raises(SnapshotError, match=words):
        Node.from_object(obj)


def test_a_malformed_quota_and_malformed_limits_are_named() -> None:
    quota = {
        "kind": "ResourceQuota",
        "metadata": {"name": "q", "namespace": "a"},
        "spec": {"hard": {"requests.cpu": "lots"}},
    }
    with pytest.raises(SnapshotError, match=r"ResourceQuota a/q cannot be read: 'lots' is no"):
        quotas_of([quota], ())
    limits = {"migrations": {"parallelMigrationsPerCluster": "many"}}
    kubevirt = {
        "metadata": {"name": "kubevirt", "namespace": "kubevirt"},
        "spec": {"configuration": limits},
    }
    words = r"KubeVirt kubevirt/kubevirt cannot be read: expected a whole number, found 'many'"
    with pytest.raises(SnapshotError, match=words):
        limits_of(kubevirt)


def test_a_malformed_pod_or_vmi_is_named_with_its_namespace() -> None:
    bad = pod("bad", "a-1", cpu="a lot")
    with pytest.raises(SnapshotError, match=r"Pod customapp/bad cannot be read: 'a lot' is no"):
        World.of(snapshot(*zones("a"), bad))
    vmi, launcher = machine("db-1", "a-1")
    vmi["spec"]["domain"] = "big"
    with pytest.raises(SnapshotError, match="VirtualMachineInstance customapp/db-1 cannot be read"):
        target_of(snapshot(*zones("a"), vmi, launcher), vm_name("db-1"))


def test_empty_objects_decode_to_defaults() -> None:
    empty: dict[str, Any] = {"metadata": {"name": "x", "labels": None}, "spec": None}
    assert Node.from_object(empty) == Node(name="x")
    found = Pod.from_object(empty)
    assert (found.node, found.labels, found.requests.filtered) == ("", {}, {})
    assert not found.finished
    assert node("a")["metadata"]["labels"] == Node.from_object(node("a")).labels
