"""virt-api's rules about what only a guest sees, message by message, as one table."""

from __future__ import annotations

from typing import Any

import pytest

from gitbot.kubernetes.objects import annotations_of, at, with_value
from gitbot.kubevirt.webhook_answers import Admitted, Refused, WebhookAnswer
from tests.unit.kubevirt.objects import KUBEVIRT, Object, vmi_spec
from tests.virt_api.instances import admit_instance
from tests.virt_api.machines import admit_machine

NETWORK, DISKS = "domain.devices.interfaces", "domain.devices.disks"
HYPERV, SECURITY = "domain.features.hyperv", "domain.launchSecurity"
EFI = "domain.firmware.bootloader.efi"
TWICE = "spec.domain.devices.disks.domain.devices.disks"
SECRET = {"source": {"secret": {"secretName": "s"}}}
AGENT = {"qemuGuestAgent": {"users": ["root"]}}
PLAIN = {"name": "default", "pod": {}}


def cluster(*gates: str, **configuration: Any) -> Object:
    developer = {"developerConfiguration": {"featureGates": list(gates)}}
    return {"spec": {"configuration": developer | configuration}}


def verdict(changes: dict[str, Any], kubevirt: Object = KUBEVIRT) -> WebhookAnswer:
    spec: Object = vmi_spec("None")
    for path, value in changes.items():
        spec = with_value(spec, value, *path.split("."))
    vmi = {"kind": "VirtualMachineInstance", "metadata": {"name": "a"}, "spec": spec}
    return admit_instance(vmi, user="bob", kubevirt=kubevirt)


def causes(changes: dict[str, Any], kubevirt: Object = KUBEVIRT) -> list[tuple[str, str]]:
    found = verdict(changes, kubevirt)
    told = found.causes if isinstance(found, Refused) else ()
    return [(cause.message, cause.field) for cause in told]


def disk(**more: Any) -> dict[str, Any]:
    volume = {"name": "d", "containerDisk": {"image": "i"}}
    return {DISKS: [{"name": "d", "disk": {"bus": "virtio"}} | more], "volumes": [volume]}


def custom(logical: int, physical: int, **more: int) -> dict[str, Any]:
    sizes = {"logical": logical, "physical": physical} | more
    return disk(blockSize={"custom": sizes})


def volume(**source: Any) -> dict[str, Any]:
    return {"volumes": [{"name": "d"} | source]}


def interface(**more: Any) -> dict[str, Any]:
    return {NETWORK: [{"name": "default", "masquerade": {}} | more]}


def ssh(**methods: Any) -> dict[str, Any]:
    return {"accessCredentials": [{"sshPublicKey": SECRET | {"propagationMethod": methods}}]}


BLOCK = "spec.domain.devices.disks[0].blockSize"
ONE = [
    (disk(disk={"bus": "virtio", "pciAddress": "0000:81:00.1"}), "", ""),
    (
        disk(disk={"bus": "virtio", "pciAddress": "81:0"}),
        (
            "disk spec.domain.devices.disks.domain.devices.disks.disk[0].name has malformed PCI "
            "address (81:0)."
        ),
        "spec.domain.devices.disks.domain.devices.disks.disk[0].pciAddress",
    ),
    (disk(disk={}, dedicatedIOThread=True), "IOThreads are not supported", f"{TWICE}[0]"),
    (disk(io="fast"), "Disk IO mode for spec.domain.devices.disks is not", f"{TWICE}[0].io"),
    (custom(512, 4096), "", ""),
    (custom(4096, 512), "must be the same or less than the physical", f"{BLOCK}.custom.logical"),
    (custom(512, 513), "Provided size of 513 is not a power of 2", f"{BLOCK}.custom.physical"),
    (custom(256, 512), "less than the supported minimum size", f"{BLOCK}.custom.logical"),
    (custom(512, 4194304), "greater than the supported maximum", f"{BLOCK}.custom.physical"),
    (
        custom(512, 512, discardGranularity=100),
        "Discard granularity 100 must be multiples of logical size 512",
        f"{BLOCK}.custom.discardGranularity",
    ),
    (
        disk(blockSize={"custom": {"logical": 512, "physical": 512}, "matchVolume": {}}),
        "Block size matching can't be enabled together with a custom value",
        BLOCK,
    ),
    (volume(containerDisk={"image": "i", "path": "/disk/a.img"}), "", ""),
    (volume(containerDisk={"image": "i", "path": "/"}), "must not point to root", None),
    (volume(containerDisk={"image": "i", "path": "a/../b"}), "without relative components", None),
    (
        volume(cloudInitNoCloud={"secretRef": {"name": "s"}}),
        "",
        "",
    ),
    (
        {
            "domain.devices.filesystems": [{"name": "d", "virtiofs": {}}],
            **volume(containerPath={"path": "/var/run/libvirt/x"}),
        },
        "ContainerPath volume 'd' uses reserved path prefix '/var/run/libvirt'",
        "spec.domain.volumes[0].containerPath.path",
    ),
    (
        {"domain.firmware.kernelBoot.container": {"image": "i", "kernelPath": "k"}},
        "must be an absolute path to a file without relative components",
        "spec.domain.firmware.kernelBoot.container.kernelPath",
    ),
    ({"domain.firmware.acpi": {}}, "no SLIC nor MSDM volume reference was set", "spec.acpi"),
    (
        {"domain.firmware.acpi": {"slicNameRef": "x"}},
        "spec.acpi does not have a matching Volume.",
        "spec.acpi.slicNameRef",
    ),
    (
        {"domain.firmware.acpi": {"msdmNameRef": "d"}, **volume(emptyDisk={})},
        "spec.acpi refers to Volume of unsupported type.",
        "spec.acpi.msdmNameRef",
    ),
    (
        {"domain.firmware.acpi": {"msdmNameRef": "d"}, **volume(secret={"secretName": "s"})},
        "",
        "",
    ),
    (ssh(**AGENT), "", ""),
    (
        ssh(qemuGuestAgent={}),
        "spec.accessCredentials[0] requires at least one user to be present in the users list",
        "spec.accessCredentials[0].sshPublicKey.propagationMethod.qemuGuestAgent.users",
    ),
    (
        ssh(noCloud={}),
        "requires a noCloud volume to exist when the noCloud propagationMethod is in use.",
        "spec.accessCredentials[0].sshPublicKey.propagationMethod",
    ),
    (ssh(), "must have exactly one propagationMethod set", None),
    ({"accessCredentials": [{}]}, "must have exactly one access credential type set", None),
    (
        {"accessCredentials": [{"userPassword": {"propagationMethod": AGENT}}]},
        "must have exactly one source set",
        "spec.accessCredentials[0].userPassword.source",
    ),
    (
        {HYPERV: {"evmcs": {}}, "domain.features.hypervPassthrough": {"enabled": True}},
        "Cannot explicitly set hyperV features if HypervPassthrough is being used.",
        "spec.domain.features.hyperv",
    ),
    ({HYPERV: {"synic": {}}}, "", ""),
    (
        {HYPERV: {"ipi": {}, "vpindex": {"enabled": False}}},
        (
            "'spec.domain.features.hyperv.domain.features.hyperv.ipi' requires "
            "'spec.domain.features.hyperv.domain.features.hyperv.vpindex', which was disabled."
        ),
        "spec.domain.features.hyperv.domain.features.hyperv.ipi",
    ),
    ({SECURITY: {"sev": {}}}, "SEV requires OVMF (UEFI)", "spec.launchSecurity"),
    (
        {SECURITY: {"sev": {"attestation": {}}}, EFI: {"secureBoot": False}},
        "SEV attestation requires VMI StartStrategy 'Paused'",
        "spec.launchSecurity",
    ),
    (
        {SECURITY: {"snp": {}}, EFI: {"secureBoot": False, "persistent": True}},
        "SNP does not work along with Persistent EFI variables",
        "spec.launchSecurity",
    ),
    (
        {SECURITY: {"snp": {}}, EFI: {"secureBoot": False}, **interface(bootOrder=1)},
        "SNP does not work with bootable NICs: default",
        "spec.launchSecurity",
    ),
    (
        {"domain.memory": {"hugepages": {"pageSize": "abc"}}},
        "spec.domain.memory.hugepages.pageSize 'abc': quantities must match",
        "spec.domain.memory.hugepages.pageSize",
    ),
    ({"utilityVolumes": [{"name": "u"}]}, "can only be added via hotplug", "spec.utilityVolumes"),
    ({"domain.devices.video": {}}, "video model '' is not supported on amd64", None),
    (
        {
            "topologySpreadConstraints": [
                {"maxSkew": skew, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
                for skew in (1, 2)
            ]
        },
        'Duplicate value: "{zone, DoNotSchedule}"',
        "spec.topologySpreadConstraints[0].{topologyKey, whenUnsatisfiable}",
    ),
]


@pytest.mark.parametrize(("changes", "words", "field"), ONE)
def test_what_is_refused_of_a_guest(changes: dict[str, Any], words: str, field: str | None) -> None:
    found = causes(changes)
    assert len(found) == bool(words), found
    for message, where in found:
        assert words in message
        assert field in (None, where)


MANY = [
    (interface(pciAddress="0000:81:00.1"), ""),
    (interface(pciAddress="81"), "has malformed PCI address (81)."),
    (interface(macAddress="00:00:00:00"), "has malformed MAC address (00:00:00:00)."),
    (interface(macAddress="de:ad:00:00:be:af:be:af"), "has too long MAC address"),
    (interface(dhcpOptions={"privateOptions": [{"option": 240, "value": "x"}]}), ""),
    (interface(dhcpOptions={"privateOptions": [{"option": 2}]}), "must be in range 224 to 254"),
    (
        interface(dhcpOptions={"privateOptions": [{"option": 240}, {"option": 240}]}),
        "you have provided duplicate DHCPPrivateOptions",
    ),
    (interface(dhcpOptions={"ntpServers": ["10.0.0.1", "::1"]}), "list of valid IPv4 addresses."),
    (interface(portRanges=[]), "the PortRangesSpec feature gate is not enabled"),
]


@pytest.mark.parametrize(("changes", "words"), MANY)
def test_what_is_refused_of_an_interface_is_said_twice(changes: dict[str, Any], words: str) -> None:
    found = causes(changes)
    assert len(found) == (2 if words else 0), found
    assert all(words in message for message, _ in found)


def span(start: int, end: int, protocol: str = "TCP") -> dict[str, Any]:
    return {"start": start, "end": end, "protocol": protocol}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (interface(portRanges=[span(1, 9), span(1, 9, "UDP"), span(10, 12)]), ""),
        (interface(portRanges=[span(1, 9), span(5, 7)]), "TCP portRanges [1-9] and [5-7] overlap"),
        (interface(portRanges=[span(9, 1)]), "Start must be less than or equal to end"),
        (interface(portRanges=[span(0, 1)]), "Start must be a valid port number"),
        (interface(portRanges=[span(1, 65536)]), "End must be a valid port number"),
        (interface(portRanges=[span(1, 2, "SCTP")]), "Unknown protocol"),
        (interface(portRanges=[span(1, 2)] * 11), "No more than 10 portRanges are allowed"),
        (interface(portRanges=[], ports=[]), "Cannot define both ports and portRanges"),
    ],
)
def test_ranges_of_ports(changes: dict[str, Any], words: str) -> None:
    found = causes(changes, cluster("PortRangesSpec"))
    assert bool(found) == bool(words), found
    assert all(words in message for message, _ in found)


CLAIM = {"claimName": "c", "requestName": "r"}
CLAIMED = {"name": "default", "resourceClaim": CLAIM}
SRIOV = {NETWORK: [{"name": "default", "sriov": {}}]}
NAMED = {"resourceClaims": [{"name": "c", "resourceClaimName": "x"}]}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"networks": [CLAIMED], **SRIOV, **NAMED}, ""),
        ({"networks": [CLAIMED], **SRIOV}, 'resourceClaim "c" which is not defined in spec.resou'),
        ({"networks": [CLAIMED], **NAMED}, 'DRA network "default" requires an SR-IOV or binding'),
        (
            {"networks": [CLAIMED | {"resourceClaim": {"claimName": "c"}}], **SRIOV, **NAMED},
            "requestName is required for DRA network",
        ),
        (
            {"networks": [CLAIMED, {"name": "b", "multus": {"networkName": "n"}}], **SRIOV},
            "mixing Multus and DRA resourceClaim networks in the same VMI is not supported",
        ),
        (
            {"networks": [CLAIMED, CLAIMED | {"name": "b"}], **SRIOV, **NAMED},
            'duplicate claimName/requestName combination "c/r"',
        ),
        (
            {
                "networks": [CLAIMED],
                "domain.devices.gpus": [{"name": "g"} | CLAIM],
                **SRIOV,
                **NAMED,
            },
            'duplicate claimName/requestName pair "c/r" between GPUs[0] and Networks[0]',
        ),
    ],
)
def test_networks_of_claims(changes: dict[str, Any], words: str) -> None:
    found = causes(changes, cluster("NetworkDevicesWithDRA"))
    assert bool(found) == bool(words), found
    assert words in " ".join(message for message, _ in found)


def test_the_first_ten_causes_are_told_and_the_others_counted() -> None:
    features = [{"name": f"f{index}", "policy": "maybe"} for index in range(13)]
    found = verdict({"domain.cpu.features": features})
    assert isinstance(found, Refused)
    assert len(found.causes) == 10
    assert found.message.endswith("that is not supported., and 3 more validation errors")


@pytest.mark.parametrize(
    ("given", "stored", "features"),
    [
        ({"synictimer": {}}, ["synic", "synictimer", "vpindex"], []),
        ({"evmcs": {}}, ["evmcs", "vapic"], [{"name": "vmx", "policy": "require"}]),
        ({"relaxed": {"enabled": False}}, [], []),
    ],
)
def test_enlightenments_bring_what_they_need(
    given: dict[str, Any], stored: list[str], features: list[Any]
) -> None:
    found = verdict({HYPERV: given})
    assert isinstance(found, Admitted)
    hyperv = at(found.object, "spec", *HYPERV.split("."))
    assert sorted(name for name, state in hyperv.items() if state["enabled"]) == stored
    assert at(found.object, "spec", "domain", "cpu", "features", default=[]) == features


@pytest.mark.parametrize(
    ("changes", "gates", "expected"),
    [
        ({}, ("AlignCPUs",), {"kubevirt.io/pci-topology-version": "v3"}),
        ({"domain.machine.type": "pc"}, (), {}),
        (
            {"domain.cpu": {"cores": 1, "dedicatedCpuPlacement": True, "isolateEmulatorThread": 1}},
            ("AlignCPUs",),
            {
                "alpha.kubevirt.io/EmulatorThreadCompleteToEvenParity": "",
                "kubevirt.io/pci-topology-version": "v3",
            },
        ),
    ],
)
def test_the_marks_of_an_admitted_instance(
    changes: dict[str, Any], gates: tuple[str, ...], expected: dict[str, str]
) -> None:
    kubevirt = cluster(*gates, emulatedMachines=["q35*", "pc*"])
    marks = {"alpha.kubevirt.io/EmulatorThreadCompleteToEvenParity": ""}
    found = verdict(changes, kubevirt | {"metadata": {"annotations": marks}})
    assert isinstance(found, Admitted), found
    assert annotations_of(found.object) == expected


@pytest.mark.parametrize(
    ("account", "allowed"),
    [
        ("kubevirt-controller", True),
        ("kubevirt-synchronization-controller", True),
        ("kubevirt-operator", False),
    ],
)
def test_which_accounts_may_write_reserved_labels(account: str, allowed: bool) -> None:
    labels = {"kubevirt.io/nodeName": "n"}
    vmi = {"metadata": {"name": "a", "labels": labels}, "spec": vmi_spec("None")}
    user = f"system:serviceaccount:kubevirt:{account}"
    assert isinstance(admit_instance(vmi, user=user, kubevirt=KUBEVIRT), Admitted) == allowed


SLIRP = {
    **vmi_spec("None")["domain"],
    "devices": {"interfaces": [{"name": "default", "slirp": {}}]},
}


@pytest.mark.parametrize(
    ("spec", "running", "created", "words"),
    [
        ({}, {"runStrategy": "Always"}, True, ""),
        ({"domain": SLIRP}, {"runStrategy": "Always"}, True, "discontinued since v1.3"),
        ({"domain": SLIRP}, {"runStrategy": "Always"}, False, "exactly one binding method"),
        ({"dnsPolicy": "Mine"}, {"running": True}, True, '"virtualmachines-mutator.kubevirt.io"'),
    ],
)
def test_what_is_refused_of_a_machine(
    spec: Object, running: Object, created: bool, words: str
) -> None:
    template = {"spec": vmi_spec("None") | {"networks": [PLAIN]} | spec}
    vm = {"metadata": {"name": "a"}, "spec": running | {"template": template}}
    found = admit_machine(vm, user="bob", kubevirt=KUBEVIRT, old=None if created else vm)
    assert words in (found.message if isinstance(found, Refused) else "")
    assert isinstance(found, Refused) == bool(words)


def test_a_deprecated_field_of_a_machine_is_warned_of() -> None:
    spec = {"running": True, "template": {"spec": vmi_spec("None")}}
    found = admit_machine({"spec": spec}, user="bob", kubevirt=KUBEVIRT)
    assert isinstance(found, Admitted)
    assert found.warnings == ("spec.running is deprecated, please use spec.runStrategy instead.",)


def test_no_bridge_where_bridges_are_not_permitted() -> None:
    network = {"permitBridgeInterfaceOnPodNetwork": False}
    found = verdict({"networks": [], NETWORK: []}, cluster(network=network))
    assert isinstance(found, Refused)
    assert found.code == 400
    assert found.message.endswith("bridge interface is not enabled in kubevirt-config")
