"""virt-api's rules as tables. Its recorded answers are played in tests/recordings."""

from __future__ import annotations

from typing import Any

import pytest

from gitbot.kubernetes.objects import at, with_value
from gitbot.kubevirt.webhook_answers import Admitted, Refused
from gitbot.simulation.kubevirt.instance_admission import admit_instance_update
from tests.unit.kubevirt.objects import KUBEVIRT, Object, vmi_spec
from tests.virt_api.instances import admit_instance
from tests.virt_api.machines import admit_machine

CONTROLLER = "system:serviceaccount:kubevirt:kubevirt-controller"
STAGE: Object = {"spec": {"configuration": {"vmRolloutStrategy": "Stage"}}}


def gated(*gates: str) -> Object:
    return {"spec": {"configuration": {"developerConfiguration": {"featureGates": list(gates)}}}}


def instance(*changes: tuple[str, Any]) -> Object:
    """A VMI whose spec is changed at dotted paths."""
    spec = vmi_spec("None")
    for path, value in changes:
        spec = with_value(spec, value, *path.split("."))
    return {"kind": "VirtualMachineInstance", "metadata": {"name": "a"}, "spec": spec}


def refusal(obj: Object, kubevirt: Object = KUBEVIRT, user: str = "bob") -> list[str]:
    verdict = admit_instance(obj, user=user, kubevirt=kubevirt)
    return [cause.message for cause in verdict.causes] if isinstance(verdict, Refused) else []


PINNED = ("domain.cpu.dedicatedCpuPlacement", True)
DEVICE = {"name": "d", "deviceName": "example.com/d"}
TERM = {"labelSelector": {"matchLabels": {"app": "db"}}, "topologyKey": ""}
AFFINITY = "affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution"


@pytest.mark.parametrize(
    ("changes", "kubevirt", "words"),
    [
        ([], KUBEVIRT, ""),
        ([("evictionStrategy", "Foo")], KUBEVIRT, "spec.evictionStrategy is set with an unrec"),
        ([("domain.machine.type", "pc")], KUBEVIRT, "is not supported: pc (allowed values: [q35*"),
        ([("architecture", "arm64")], KUBEVIRT, "spec.domain.machine.type is not supported: q35"),
        ([("domain.memory.hugepages.pageSize", "3Gi")], KUBEVIRT, "equal to or larger than page"),
        ([("domain.memory.hugepages.pageSize", "2Mi")], KUBEVIRT, ""),
        (
            [
                ("domain.memory.hugepages.pageSize", "1Gi"),
                ("domain.resources.requests.memory", "3000M"),
            ],
            KUBEVIRT,
            "memory '3G' is not a multiple of the page size",
        ),
        ([("domain.resources.requests.memory", "12")], KUBEVIRT, "greater than or equal to 1M."),
        ([("domain.resources.limits.memory", "1Mi")], KUBEVIRT, ""),
        ([("domain.resources.limits.memory", "2Mi")], STAGE, "must be equal to or less than the m"),
        (
            [("domain.resources", {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}})],
            KUBEVIRT,
            "spec.domain.resources.requests.cpu '2' is greater than spec.domain.resources.limits",
        ),
        ([PINNED], KUBEVIRT, ""),
        ([PINNED, ("domain.cpu.threads", 4)], KUBEVIRT, "Not more than two threads"),
        (
            [PINNED, ("domain.resources.requests.cpu", "1500m")],
            KUBEVIRT,
            "provided resources CPU requests must be an interger",
        ),
        (
            [PINNED, ("domain.resources.requests.cpu", "7")],
            KUBEVIRT,
            "must not be provided at the same time with spec.domain.cpu.cores",
        ),
        ([("domain.cpu.isolateEmulatorThread", True)], KUBEVIRT, "in combination with Dedicated"),
        ([("domain.cpu.features", [{"name": "x", "policy": "y"}])], KUBEVIRT, "uses policy y that"),
        ([("domain.cpu.sockets", 4), ("domain.cpu.maxSockets", 2)], KUBEVIRT, "greater than the m"),
        ([("domain.cpu.realtime", {})], KUBEVIRT, "dedicatedCpuPlacement must be set to true when"),
        (
            [("domain.cpu.numa.guestMappingPassthrough", {})],
            KUBEVIRT,
            "spec.domain.memory.hugepages must be requested when NUMA topology strategy",
        ),
        ([("startStrategy", "Later")], KUBEVIRT, "is set with an unrecognized option: Later"),
        ([(AFFINITY, [TERM])], KUBEVIRT, "[0].topologyKey: Required value: can not be empty"),
        ([(AFFINITY, [{**TERM, "topologyKey": "zone"}])], KUBEVIRT, ""),
        (
            [("topologySpreadConstraints", [{"maxSkew": 0, "topologyKey": "zone"}])],
            KUBEVIRT,
            "spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than",
        ),
        (
            [("networks", [])],
            KUBEVIRT,
            "interfaces[0].name 'default' not found",
        ),
        (
            [("networks", [{"name": "default", "multus": {}}])],
            KUBEVIRT,
            "only implemented with pod",
        ),
        ([("volumes", [{"name": "x", "emptyDisk": {}}])], KUBEVIRT, ""),
        ([("domain.devices.disks", [{"name": "x"}])], KUBEVIRT, "disks[0].Name 'x' not found."),
        ([("domain.ioThreadsPolicy", "x")], KUBEVIRT, "Invalid IOThreadsPolicy (x)"),
        ([("domain.firmware.bootloader.efi", {})], KUBEVIRT, "SecureBoot requires SMM"),
        ([("domain.devices.hostDevices", [DEVICE])], KUBEVIRT, "Host Devices feature gate"),
        ([("domain.devices.hostDevices", [DEVICE])], gated("HostDevices"), ""),
        ([("domain.devices.hostDevices", [])], KUBEVIRT, ""),
        ([("domain.launchSecurity", {"sev": {}, "snp": {}})], KUBEVIRT, "One and only one launch"),
        ([("domain.launchSecurity", {"tdx": {}})], KUBEVIRT, "WorkloadEncryptionTDX feature gate"),
        ([("domain.devices.autoattachVSOCK", True)], KUBEVIRT, "VSOCK feature gate is not enabled"),
        ([("domain.devices.autoattachVSOCK", True)], gated("VSOCK"), ""),
        ([("domain.memory.reservedOverhead", {})], KUBEVIRT, "Reserved overhead memlock feature"),
        ([("domain.devices.watchdog", {"name": "w"})], KUBEVIRT, ""),
        ([("domain.devices.watchdog", {"diag288": {}})], KUBEVIRT, "only supports I6300ESB watchd"),
    ],
)
def test_what_virt_api_refuses_in_a_spec(
    changes: list[tuple[str, Any]], kubevirt: Object, words: str
) -> None:
    found = refusal(instance(*changes), kubevirt)
    assert bool(found) == bool(words), found
    assert words in " ".join(found)


def test_a_guest_without_memory_is_refused() -> None:
    bare = instance(("domain.memory", None), ("domain.resources", {}))
    assert "no memory requested" in refusal(bare)[0]


@pytest.mark.parametrize(
    ("user", "part", "key", "allowed"),
    [
        ("bob", "labels", "kubevirt.io/nodeName", False),
        (CONTROLLER, "labels", "kubevirt.io/nodeName", True),
        ("bob", "labels", "team", True),
        ("bob", "annotations", "hooks.kubevirt.io/hookSidecars", False),
        ("bob", "annotations", "note", True),
    ],
)
def test_labels_and_annotations_that_are_not_for_users(
    user: str, part: str, key: str, allowed: bool
) -> None:
    made = instance()
    made["metadata"][part] = {key: "x"}
    assert (refusal(made, user=user) == []) is allowed


@pytest.mark.parametrize(
    ("resources", "counts"),
    [
        ({}, (1, 1, 1)),
        ({"requests": {"cpu": "3"}}, (1, 3, 1)),
        ({"requests": {"cpu": "3"}, "limits": {"cpu": "3500m"}}, (1, 4, 1)),
    ],
)
def test_a_topology_that_is_not_given_follows_from_the_resources(
    resources: Object, counts: tuple[int, int, int]
) -> None:
    made = instance(("domain.resources", resources), ("domain.cpu", {}))
    verdict = admit_instance(made, user="bob", kubevirt=KUBEVIRT)
    assert isinstance(verdict, Admitted)
    cpu = at(verdict.object, "spec", "domain", "cpu")
    assert tuple(cpu[part] for part in ("cores", "sockets", "threads")) == counts
    assert at(verdict.object, "metadata", "annotations", "kubevirt.io/pci-topology-version") == "v3"


def machine(strategy: str | None, *changes: tuple[str, Any]) -> Object:
    template = {"metadata": {}, "spec": instance(*changes)["spec"]}
    spec: Object = {"template": template}
    return {"metadata": {"name": "vm"}, "spec": {**spec, "runStrategy": strategy}}


@pytest.mark.parametrize(
    ("vm", "words"),
    [
        (machine("Always"), ""),
        (machine(None), "RunStrategy must be specified"),
        (machine("Sometimes"), "Invalid RunStrategy (Sometimes)"),
        (machine("WaitAsReceiver"), "DecentralizedLiveMigration feature gate is not enabled"),
        ({"spec": {"runStrategy": "Always"}}, "missing virtual machine template."),
        (machine("Always", ("evictionStrategy", "Foo")), "spec.template.spec.evictionStrategy is"),
        (
            machine("Always", ("domain.memory", {"guest": "512Mi", "maxGuest": "2Gi"})),
            "Memory hotplug is only available for VMs with at least 1Gi of guest memory",
        ),
        (
            machine("Always", ("domain.memory", {"guest": "4Gi", "maxGuest": "2Gi"})),
            "Guest memory is greater than the configured maxGuest memory",
        ),
        (machine("Always", ("domain.memory", {"guest": "2Gi", "maxGuest": "4Gi"})), ""),
    ],
)
def test_what_virt_api_refuses_in_a_virtual_machine(vm: Object, words: str) -> None:
    verdict = admit_machine(vm, user="bob", kubevirt=KUBEVIRT)
    assert isinstance(verdict, Refused) is bool(words)
    if isinstance(verdict, Refused):
        assert words in verdict.message
        assert verdict.code == 422


def test_a_user_cannot_write_the_status_of_a_vmi() -> None:
    old = {"metadata": {"name": "a"}, "spec": {}, "status": {"phase": "Running"}}
    new = {**old, "status": {"phase": "Failed"}}
    kept = admit_instance_update(new, old, user="bob", kubevirt=KUBEVIRT)
    assert isinstance(kept, Admitted)
    assert kept.object["status"] == {"phase": "Running"}
    written = admit_instance_update(new, old, user=CONTROLLER, kubevirt=KUBEVIRT)
    assert isinstance(written, Admitted)
    assert written.object["status"] == {"phase": "Failed"}
