"""Files that lack a kind on which an answer depends: a stated gap with the command, no verdict."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from gitbot.kubernetes.objects import KubernetesObject
from tests.doubles.problems import node, vm
from tests.unit.cli.desk import typed

NODES = [node(name, zone="a") for name in ("n1", "n2")]
ADDS = "`kubectl get namespaces -o yaml` adds them"


def terms(selector: Mapping[str, Any], *, kind: str = "podAntiAffinity") -> Mapping[str, Any]:
    term = {
        "labelSelector": {"matchLabels": {"app": "db"}},
        "namespaceSelector": selector,
        "topologyKey": "kubernetes.io/hostname",
    }
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def named(namespace: str, **labels: str) -> KubernetesObject:
    metadata = {"name": namespace, "labels": labels}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


def told(objects: Sequence[KubernetesObject], *words: str) -> str:
    items = {"apiVersion": "v1", "kind": "List", "items": [*NODES, *objects]}
    Path("cluster.json").write_text(json.dumps(items))
    found = typed(*words, "--snapshot", "cluster.json")
    return f"{found.out}{found.err}"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


TEAM = {"matchLabels": {"team": "x"}}
ABSENT = {"matchExpressions": [{"key": "team", "operator": "DoesNotExist"}]}
NAME = "kubernetes.io/metadata.name"


@pytest.mark.parametrize(
    ("asks", "selector", "known"),
    [
        ("a", TEAM, False),
        ("b", TEAM, False),  # the other VM's term keeps this one away
        ("b", ABSENT, False),
        ("a", {}, True),
        ("b", {}, True),
        ("a", {"matchLabels": {NAME: "other"}}, True),
        ("b", {"matchLabels": {NAME: "default"}}, True),
        ("b", {"matchLabels": {NAME: "other", "team": "x"}}, True),
        ("b", {"matchLabels": {NAME: "default", "team": "x"}}, False),
    ],
)
def test_without_namespaces_a_selector_by_label_leaves_the_fit_unknown(
    asks: str, selector: Mapping[str, Any], known: bool
) -> None:
    own, other = (terms(selector) if asks == name else None for name in ("a", "b"))
    labels = {"app": "db"}
    objects = [
        *vm("a", on="n1", labels=labels, affinity=own),
        *vm("b", on="n2", namespace="other", labels=labels, affinity=other),
    ]
    said = told(objects, "explain", "vm/a", "-n", "default")
    assert ("fit unknown" not in said) is known
    assert (f"decide a namespaceSelector, and no Namespace is in it: {ADDS}" not in said) is known
    spaces = [named("default", team="y"), named("other", team="y")]
    assert "fit unknown" not in told([*objects, *spaces], "explain", "vm/a", "-n", "default")


def test_a_defect_of_1_36_decides_without_namespaces() -> None:
    """There a new pod's selector of DoesNotExist alone reaches every namespace."""
    near = vm("a", on="n1", affinity=terms(ABSENT, kind="podAffinity"))
    objects = [*near, *vm("b", on="n2", namespace="other", labels={"app": "db"})]
    assert "1 of 2 nodes takes it" in told(objects, "explain", "vm/a", "-n", "default")


def test_a_term_about_no_pod_is_decided_without_namespaces() -> None:
    alone = vm("a", on="n1", affinity=terms(TEAM))
    assert "1 of 2 nodes takes it" in told(alone, "explain", "vm/a")


def test_nothing_is_planned_on_an_unread_selector() -> None:
    objects = [
        *vm("a", on="n1", labels={"app": "db"}),
        *vm("b", on="n2", namespace="other", labels={"app": "db"}, affinity=terms(TEAM)),
    ]
    said = told(objects, "simulate", "drain", "n1")
    assert "1 VM cannot leave" in said
    assert ADDS in said


def test_an_audit_says_that_it_did_not_look_at_such_terms() -> None:
    objects = vm("a", on="n1", affinity=terms(TEAM, kind="podAffinity"))
    gap = f"not audited: the namespaceSelector of default/a: no Namespace was read ({ADDS})"
    assert gap in told(objects, "audit")
    assert "namespaceSelector" not in told([*objects, named("default")], "audit")


@pytest.mark.parametrize(
    ("kind", "found", "adds"),
    [
        ("Pod", "1 VirtualMachineInstance", "pods"),
        ("VirtualMachineInstance", "1 launcher pod", "virtualmachineinstances"),
    ],
)
@pytest.mark.parametrize(
    "words", [("explain", "--all-pending"), ("simulate", "drain", "n1"), ("audit",)]
)
def test_half_of_the_running_vms_is_no_cluster(
    kind: str, found: str, adds: str, words: Sequence[str]
) -> None:
    objects = [obj for obj in vm("a", on="n1") if obj["kind"] != kind]
    said = told(objects, *words)
    assert f"error: cluster.json: found {found} and no {kind}: where VMs have room is not" in said
    assert f"`kubectl get {adds} -A -o yaml` adds them" in said


def test_a_launcher_pod_that_terminates_may_outlive_its_vmi() -> None:
    objects = [obj for obj in vm("a", on="n1") if obj["kind"] == "Pod"]
    for pod in objects:
        pod["metadata"]["deletionTimestamp"] = "2026-12-06T21:00:00Z"
    assert "where VMs have room" not in told(objects, "audit")
