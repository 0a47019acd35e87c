"""The official Python client, unchanged, on the HTTP face of the simulated cluster."""

import importlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client

config: Any = importlib.import_module("kubernetes.config")
watch: Any = importlib.import_module("kubernetes.watch")
KUBEVIRT = ("kubevirt.io", "v1", "customapp", "virtualmachineinstancemigrations")


@pytest.fixture
def api(kubeconfig: Path) -> Iterator[Any]:
    with config.new_client_from_config(str(kubeconfig), "iberia") as opened:
        yield opened


@pytest.fixture
def core(api: Any) -> Any:
    return client.CoreV1Api(api)


@pytest.fixture
def custom(api: Any) -> Any:
    return client.CustomObjectsApi(api)


def migration(**metadata: str) -> dict[str, Any]:
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstanceMigration",
        "metadata": metadata,
        "spec": {"vmiName": "jumpbox"},
    }


def refusal(call: Callable[[], Any]) -> tuple[int, str]:
    with pytest.raises(client.ApiException) as refused:
        call()
    return refused.value.status, refused.value.reason


def test_typed_lists_with_selectors(core: Any) -> None:
    nodes = core.list_node(label_selector="topology.kubernetes.io/zone in (scu, bcn)").items
    assert [node.metadata.name for node in nodes] == [
        "kni-worker",
        "kni-worker2",
        "kni-worker3",
        "kni-worker4",
    ]
    pods = core.list_namespaced_pod("customapp", field_selector="status.phase=Running").items
    assert len(pods) == 4
    assert {pod.metadata.owner_references[0].kind for pod in pods} == {"VirtualMachineInstance"}


def test_custom_objects_are_created_read_patched_and_deleted(custom: Any) -> None:
    group, version, namespace, plural = KUBEVIRT
    custom.create_namespaced_custom_object(
        *KUBEVIRT, migration(name="dry"), dry_run="All", field_validation="Strict"
    )
    made = custom.create_namespaced_custom_object(*KUBEVIRT, migration(generateName="m-"))
    name = made["metadata"]["name"]
    assert name.startswith("m-")
    assert made["metadata"]["finalizers"] == ["kubevirt.io/migrationJobFinalize"]
    patched = custom.patch_namespaced_custom_object(
        *KUBEVIRT, name, {"metadata": {"annotations": {"placement.gitbot.dev/move": "1"}}}
    )
    assert patched["metadata"]["annotations"]["placement.gitbot.dev/move"] == "1"
    deleted = custom.delete_namespaced_custom_object(group, version, namespace, plural, name)
    assert deleted["metadata"]["name"] == name if "metadata" in deleted else deleted["status"]
    found = custom.list_namespaced_custom_object(*KUBEVIRT)["items"]
    assert "dry" not in [item["metadata"]["name"] for item in found]


def test_refusals_have_kubernetes_codes(core: Any, custom: Any) -> None:
    hold = {"metadata": {"name": "hold"}, "data": {"reason": "a"}}
    stored = core.create_namespaced_config_map("default", hold)
    assert refusal(lambda: core.create_namespaced_config_map("default", hold))[0] == 409
    assert refusal(lambda: core.create_namespaced_config_map("absent", hold))[0] == 404
    core.patch_namespaced_config_map("hold", "default", {"data": {"reason": "b"}})
    stale = lambda: core.replace_namespaced_config_map("hold", "default", stored)  # noqa: E731
    assert refusal(stale)[0] == 409
    wrong = client.V1DeleteOptions(preconditions=client.V1Preconditions(uid="another"))
    gone = lambda: core.delete_namespaced_config_map("hold", "default", body=wrong)  # noqa: E731
    assert refusal(gone)[0] == 409
    typo = {**migration(name="x"), "spec": {"vmiName": "jumpbox", "nodeSelector": {}}}
    strict = lambda: custom.create_namespaced_custom_object(  # noqa: E731
        *KUBEVIRT, typo, field_validation="Strict"
    )
    assert refusal(strict)[0] == 400
    assert refusal(lambda: core.read_namespaced_pod("absent", "default"))[0] == 404


def test_a_watch_follows_selectors(core: Any) -> None:
    version = core.list_node().metadata.resource_version
    core.patch_node("kni-worker", {"metadata": {"labels": {"x": "1"}}})
    core.patch_node("kni-worker", {"metadata": {"labels": {"y": "1"}}})
    core.patch_node("kni-worker", {"metadata": {"labels": {"x": None}}})
    events = watch.Watch().stream(
        core.list_node, label_selector="x=1", resource_version=version, timeout_seconds=2
    )
    assert [event["type"] for event in events] == ["ADDED", "MODIFIED", "DELETED"]


def test_patches_of_all_three_kinds(core: Any, api: Any) -> None:
    taint = {"key": "k", "value": "v", "effect": "NoSchedule"}
    core.patch_node("kni-worker", {"spec": {"taints": [taint]}})
    assert core.read_node("kni-worker").spec.taints[0].key == "k"
    core.patch_node("kni-worker", [{"op": "remove", "path": "/spec/taints"}])
    assert core.read_node("kni-worker").spec.taints is None
    test = [{"op": "test", "path": "/metadata/name", "value": "another"}]
    assert refusal(lambda: core.patch_node("kni-worker", test))[0] == 422
    api.set_default_header("Content-Type", "application/merge-patch+json")
    core.patch_node("kni-worker", {"spec": {"unschedulable": True}})
    assert core.read_node("kni-worker").spec.unschedulable is True
