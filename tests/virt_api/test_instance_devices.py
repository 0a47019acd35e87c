"""virt-api's rules about networks, disks, volumes, claims, probes and DNS as one table."""

from __future__ import annotations

from typing import Any

import pytest

from gitbot.kubernetes.objects import with_value
from gitbot.kubevirt.webhook_answers import Admitted, Refused
from tests.unit.kubevirt.objects import KUBEVIRT, Object, vmi_spec
from tests.virt_api.instances import admit_instance
from tests.virt_api.machines import admit_machine
from tests.virt_api.names import label_problems

NO_BRIDGE: Object = {
    "spec": {"configuration": {"network": {"permitBridgeInterfaceOnPodNetwork": False}}}
}
DRA: Object = {
    "spec": {"configuration": {"developerConfiguration": {"featureGates": ["GPUsWithDRA"]}}}
}
INTERFACES, DISKS = "domain.devices.interfaces", "domain.devices.disks"
DEFAULT = {"name": "default", "masquerade": {}}
POD = {"name": "default", "pod": {}}
CLAIMED = {"name": "g", "claimName": "c", "requestName": "r"}


def refusal(changes: dict[str, Any], kubevirt: Object = KUBEVIRT) -> list[str]:
    spec: Object = vmi_spec("None")
    for path, value in changes.items():
        spec = with_value(spec, value, *path.split("."))
    vmi = {"kind": "VirtualMachineInstance", "metadata": {"name": "a"}, "spec": spec}
    verdict = admit_instance(vmi, user="bob", kubevirt=kubevirt)
    return [cause.message for cause in verdict.causes] if isinstance(verdict, Refused) else []


def interface(**changes: Any) -> dict[str, Any]:
    return {INTERFACES: [DEFAULT | changes]}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"networks": [], INTERFACES: []}, ""),
        ({"networks": [POD, POD]}, "more than one interface is connected to a pod network"),
        ({"networks": [{"name": "default"}]}, "should have a network type"),
        ({"networks": [POD | {"multus": {"networkName": "x"}}]}, "only one network type"),
        ({"networks": [{"name": "default", "multus": {}}]}, "must have a networkName"),
        (interface(bridge={}), "must have exactly one binding method or binding plugin"),
        (interface(slirp={}), "Slirp interface support has been discontinued"),
        (interface(state="off"), "logical default interface state value is unsupported: off"),
        (interface(state="absent"), "is supported only for bridge binding"),
        (interface(macAddress="02:00:00:00:00:00"), "reserved for the in-pod bridge"),
        (interface(macAddress="hello"), "has malformed MAC address (hello)."),
        (interface(macAddress="de:ad:00:00:be:af"), ""),
        (interface(model="tape"), "uses model tape that is not supported."),
        (interface(ports=[{"port": 80, "name": "http"}]), ""),
        (interface(ports=[{"port": 80}, {"name": "x"}]), "Port field is mandatory."),
        (interface(ports=[{"port": 70000}]), "Port field must be in range 0 < x < 65536."),
        (interface(ports=[{"port": 1, "protocol": "ICMP"}]), "Unknown protocol"),
        (interface(portRanges=[{}]), "the PortRangesSpec feature gate is not enabled"),
        (interface(bootOrder=1) | {DISKS: [{"name": "x", "bootOrder": 1}]}, "already set for a"),
        ({"hostname": "a.b"}, "DNS_LABEL rules : must not contain dots"),
        ({"subdomain": "A"}, "DNS_SUBDOMAIN rules : a lowercase RFC 1123 subdomain"),
        ({"volumes": [{"name": "x", "emptyDisk": {}}]}, ""),
        ({"volumes": [{"name": "x", "cloudInitNoCloud": {}}]}, "at least one userdatasource"),
        (
            {"volumes": [{"name": "x", "cloudInitNoCloud": {"userData": "x" * 2049}}]},
            "userdata exceeds 2048 byte limit. Should use UserDataSecretRef for larger data.",
        ),
        (
            {"volumes": [{"name": "x", "cloudInitNoCloud": {"userDataBase64": "?"}}]},
            "userDataBase64 is not a valid base64 value.",
        ),
        ({"volumes": [{"name": "x", "configMap": {}}]}, "configMap.name is a required field"),
        ({"volumes": [{"name": "x", "hostDisk": {}}]}, "hostDisk.path is required for hostDisk"),
        ({DISKS: [{"name": "x", "disk": {"bus": "ide"}}]}, "IDE bus is not supported"),
        ({DISKS: [{"name": "x", "cdrom": {"bus": "virtio"}}]}, "is invalid for CD-ROM device"),
        ({DISKS: [{"name": "x", "disk": {"bus": "nvme"}}]}, "unrecognized bus nvme, must be one"),
        ({DISKS: [{"name": "x", "cache": "writeonce"}]}, "cache has invalid value writeonce"),
        ({DISKS: [{"name": "x", "serial": "a b"}]}, "[A-Za-z0-9_.+-], if specified"),
        ({"domain.devices.inputs": [{"type": "mouse"}]}, "can have only tablet type."),
        ({"domain.devices.sound": {"model": "beep"}}, "Sound device type is not supported."),
        ({"domain.devices.panicDevices": [{"model": "x"}]}, "invalid PanicDeviceModel(x)"),
        ({"readinessProbe": {}}, "must be set if a spec.readinessProbe is specified"),
        ({"livenessProbe": {"exec": {}, "tcpSocket": {}}}, "exactly one probe type set"),
        (
            {"livenessProbe": {"tcpSocket": {}}, "networks": [], INTERFACES: []}
            | {"domain.devices.autoattachPodInterface": False},
            "spec.livenessProbe.tcpSocket is only allowed if the Pod Network is attached",
        ),
        ({"domain.firmware": {"bootloader": {"efi": {"secureBoot": False}, "bios": {}}}}, "mutual"),
        ({"domain.firmware": {"kernelBoot": {"kernelArgs": "x"}}}, "without an external kernel"),
        ({"dnsPolicy": "Mine"}, "spec.dnsPolicy in body should be one of [ClusterFirst Clu"),
        ({"dnsPolicy": "None"}, "must provide `dnsConfig` when `dnsPolicy` is None"),
        ({"dnsConfig": {"nameservers": ["x"]}}, "must be valid IP address: x"),
        ({"serviceAccountName": "A"}, "is not a valid service account name"),
        ({"resourceClaims": [{"name": "c"}]}, "must specify one of: resourceClaimName"),
        ({"domain.devices.gpus": [{"name": "g"}]}, "without deviceName or claimRequest"),
        ({"domain.devices.gpus": [CLAIMED]}, "must specify all claims used in"),
        ({"domain.devices.gpus": [CLAIMED, {"deviceName": "d"}]}, "both DRA and non-DRA GPUs"),
    ],
)
def test_what_is_refused_of_devices(changes: dict[str, Any], words: str) -> None:
    problems = refusal(changes, DRA)
    assert any(words in problem for problem in problems) if words else problems == []


def test_a_bridge_on_the_pod_network_needs_to_be_permitted() -> None:
    bridge = {INTERFACES: [{"name": "default", "bridge": {}}]}
    assert refusal(bridge) == []
    text = "Bridge on pod network configuration is not enabled under kubevirt-config"
    assert refusal(bridge, NO_BRIDGE) == [text, text]


def test_networks_and_disks_of_a_vmi_are_asked_twice_those_of_a_template_once() -> None:
    spec = vmi_spec("None") | {"networks": [{"name": "default"}]}
    vm: Object = {"metadata": {"name": "a"}, "spec": {"runStrategy": "Always"}}
    vm["spec"]["template"] = {"spec": spec}
    verdict = admit_machine(vm, user="bob", kubevirt=KUBEVIRT)
    assert not isinstance(verdict, Admitted)
    texts = [cause.message for cause in verdict.causes]
    masquerade = "Masquerade interface only implemented with pod network"
    assert texts == ["should have a network type", masquerade]
    assert refusal({"networks": [{"name": "default"}]}) == texts * 2


@pytest.mark.parametrize(
    ("text", "count"), [("a", 0), ("a-1", 0), ("", 1), ("A", 1), ("a.b", 1), ("a" * 64, 1)]
)
def test_labels_by_rfc_1123(text: str, count: int) -> None:
    assert len(label_problems(text)) == count
