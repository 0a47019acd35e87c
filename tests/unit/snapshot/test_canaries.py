"""No secret, no environment, no command, no foreign annotation gets into a snapshot file."""

import gzip
import json
from typing import Any

import pytest

from gitbot.snapshot import from_objects, read_snapshot, write_snapshot

CANARY = "c4n4ry"
ENV = [{"name": CANARY, "value": CANARY, "valueFrom": {"secretKeyRef": {"name": CANARY}}}]
CONTAINER = {
    "name": "c",
    "image": "i",
    "command": [CANARY],
    "args": [CANARY],
    "env": ENV,
    "envFrom": [{"secretRef": {"name": CANARY}}],
    "lifecycle": {"preStop": {"exec": {"command": [CANARY]}}},
    "livenessProbe": {"exec": {"command": [CANARY]}, "httpGet": {"httpHeaders": [CANARY]}},
    "volumeMounts": [{"name": CANARY, "mountPath": CANARY}],
    "resources": {"requests": {"cpu": "1"}},
}
INSTANCE_SPEC = {
    "accessCredentials": [{"sshPublicKey": {"source": {"secret": {"secretName": CANARY}}}}],
    "domain": {
        "firmware": {"serial": CANARY, "kernelBoot": {"kernelArgs": CANARY}},
        "chassis": {"asset": CANARY},
        "launchSecurity": {"sev": {"session": CANARY, "dhCert": CANARY}},
        "devices": {"interfaces": [{"name": "n", "macAddress": CANARY, "masquerade": {}}]},
    },
    "livenessProbe": {"exec": {"command": [CANARY]}},
    "networks": [{"name": "n", "pod": {}}],
    "volumes": [
        {"name": "a", "cloudInitNoCloud": {"userData": CANARY, "secretRef": {"name": CANARY}}},
        {"name": "b", "cloudInitConfigDrive": {"networkData": CANARY}},
        {"name": "c", "secret": {"secretName": CANARY}},
        {"name": "d", "configMap": {"name": CANARY}},
        {"name": "e", "sysprep": {"secret": {"name": CANARY}}},
        {"name": "f", "containerDisk": {"image": "i", "imagePullSecret": CANARY}},
        {"name": "g", "serviceAccount": {"serviceAccountName": CANARY}},
    ],
}
TEMPLATE = {"metadata": {"annotations": {CANARY: CANARY}}, "spec": INSTANCE_SPEC}


def made(kind: str, version: str, **body: Any) -> dict[str, Any]:
    metadata = {
        "name": "x",
        "namespace": "a",
        "annotations": {
            "kubectl.kubernetes.io/last-applied-configuration": CANARY,
            CANARY: CANARY,
            "kubevirt.io/nonroot": "true",
            "hooks.kubevirt.io/hookSidecars": json.dumps([{"image": "i", "args": [CANARY]}]),
        },
        "managedFields": [{"manager": CANARY}],
        "selfLink": CANARY,
    }
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **body}


OBJECTS = [
    made("Secret", "v1", data={"password": CANARY}, stringData={"password": CANARY}),
    made("ConfigMap", "v1", data={"reason": CANARY}),
    made("Pod", "v1",
        spec={"containers": [CONTAINER], "initContainers": [CONTAINER],
            "ephemeralContainers": [CONTAINER], "imagePullSecrets": [{"name": CANARY}],
            "serviceAccountName": CANARY, "volumes": [{"name": "s",
            "secret": {"secretName": CANARY}}, {"name": "p",
            "projected": {"sources": [{"secret": {"name": CANARY}}]}}, {"name": "c",
            "csi": {"driver": "d", "nodePublishSecretRef": {"name": CANARY}}}, {"name": "r",
            "rbd": {"image": "i", "secretRef": {"name": CANARY}}}]},
        status={"phase": "Running", "podIP": CANARY, "message": CANARY}),
    made("VirtualMachineInstance", "kubevirt.io/v1", spec=INSTANCE_SPEC),
    made("VirtualMachine", "kubevirt.io/v1", spec={"template": TEMPLATE}),
    made("VirtualMachineInstanceReplicaSet", "kubevirt.io/v1", spec={"template": TEMPLATE}),
    made("VirtualMachinePool", "pool.kubevirt.io/v1beta1",
        spec={"virtualMachineTemplate": {**TEMPLATE, "spec": {"template": TEMPLATE}}}),
    made("KubeVirt", "kubevirt.io/v1", spec={"imagePullSecrets": [CANARY], "configuration": {}}),
    made("Node", "v1", status={"addresses": [{"address": CANARY}]}),
    made("PersistentVolume", "v1",
        spec={"csi": {"driver": "d", "nodeStageSecretRef": {"name": CANARY}}}),
    made("StorageClass", "storage.k8s.io/v1", parameters={"secret": CANARY}, provisioner="p"),
    made("Service", "v1", spec={"clusterIP": CANARY, "selector": {"app": "x"}}),
    made("Namespace", "v1"),
]  # fmt: skip


@pytest.mark.parametrize("obj", OBJECTS, ids=lambda obj: obj["kind"])
def test_no_canary_survives(obj: dict[str, Any]) -> None:
    assert CANARY in json.dumps(obj)
    data = write_snapshot(from_objects("c", [obj], 0))
    assert CANARY not in gzip.decompress(data).decode()


def test_what_a_rule_can_refer_to_does_survive() -> None:
    snapshot = from_objects("c", OBJECTS, 0)
    pod = snapshot.of("Pod")[0]
    assert pod["metadata"]["annotations"] == {
        "kubevirt.io/nonroot": "true",
        "hooks.kubevirt.io/hookSidecars": '[{"image":"i"}]',
    }
    assert pod["spec"]["containers"][0] == {
        "name": "c",
        "image": "i",
        "resources": {"requests": {"cpu": "1"}},
    }
    instance = snapshot.of("VirtualMachineInstance")[0]
    assert instance["spec"]["livenessProbe"] == {"exec": {}}  # each costs memory
    assert [sorted(each) for each in instance["spec"]["volumes"]][:3] == [
        ["cloudInitNoCloud", "name"],
        ["cloudInitConfigDrive", "name"],
        ["name", "secret"],
    ]


def test_a_hand_made_snapshot_file_is_pruned_as_well() -> None:
    document = {
        "apiVersion": "placement.gitbot.dev/v1alpha1",
        "kind": "ClusterSnapshot",
        "metadata": {"name": "c"},
        "takenAt": "2026-12-06T21:00:00Z",
        "objects": {"Pod": [OBJECTS[2]], "Secret": [OBJECTS[0]]},
    }
    snapshot = read_snapshot([("f", json.dumps(document).encode())], 0)
    assert CANARY not in str(snapshot)
