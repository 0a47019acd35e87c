"""VMs with instance types and preferences at random, and the pods that KubeVirt makes of them.

`python -m tests.recordings.instance_types` prints scenarios for the recorder in `instancetypes/`;
with a file of its answers it writes the record that tests replay.
"""

from __future__ import annotations

import gzip
import json
import random
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from gitbot.kubernetes.quantities import units_of

COUNT = 400
RECORD = Path(__file__).parent / "recorded/instance-types.jsonl.gz"
Made = dict[str, Any]


def scenarios(count: int = COUNT) -> Iterator[Made]:
    for seed in range(count):
        yield _Draw(random.Random(seed)).scenario(f"t{seed:03}")


class _Draw:
    """One scenario; most have few fields, so that many of them are accepted."""

    def __init__(self, dice: random.Random) -> None:
        self._dice = dice

    def scenario(self, name: str) -> Made:
        kind = self._type() if self._may(0.85) else None
        preference = self._preference() if kind is None or self._may(0.7) else None
        return {
            "name": name,
            "settings": self._settings(),
            "instancetype": kind,
            "preference": preference,
            "vm": self._machine(sized=kind is None),
        }

    def _may(self, share: float) -> bool:
        return self._dice.random() < share

    def _some(self, share: float, choices: Mapping[str, Callable[[], Any]]) -> Made:
        return {key: made() for key, made in choices.items() if self._may(share)}

    def _one(self, *values: Any) -> Callable[[], Any]:
        return lambda: self._dice.choice(values)

    def _settings(self) -> Made:
        return self._some(
            0.15,
            {
                "vmRolloutStrategy": self._one("LiveUpdate", "Stage"),
                "additionalGuestMemoryOverheadRatio": self._one("1.5"),
                "developerConfiguration": self._one(
                    {"cpuAllocationRatio": 4}, {"featureGates": ["HypervStrictCheck"]}
                ),
                "cpuModel": self._one("Haswell"),
                "cpuRequest": self._one("250m"),
                "network": self._one({"defaultNetworkInterface": "masquerade"}),
                "defaultRuntimeClass": self._one("kata"),
            },
        )

    def _type(self) -> Made:
        cpu: Made = {"guest": self._dice.choice((1, 2, 3, 4, 8, 12))}
        cpu |= self._some(
            0.15,
            {
                "model": self._one("Skylake", "host-model", "host-passthrough"),
                "dedicatedCPUPlacement": self._one(True, False),
                "maxSockets": self._one(16),
            },
        )
        if cpu.get("dedicatedCPUPlacement"):
            cpu |= self._some(
                0.4,
                {
                    "isolateEmulatorThread": self._one(True),
                    "numa": self._one({"guestMappingPassthrough": {}}),
                },
            )
        memory: Made = {"guest": self._dice.choice(("512Mi", "1Gi", "3Gi", "8Gi", "17G"))}
        memory |= self._some(
            0.2,
            {"overcommitPercent": self._one(5, 15, 33, 50), "maxGuest": self._one("32Gi")},
        )
        if "overcommitPercent" not in memory and self._may(0.15):
            memory["hugepages"] = {"pageSize": self._dice.choice(("2Mi", "1Gi"))}
        return {
            "cpu": cpu,
            "memory": memory,
            **self._some(
                0.2,
                {
                    "nodeSelector": self._one({"tier": "gold"}, {"gpu": "a10", "zone": "x"}),
                    "schedulerName": self._one("own-scheduler"),
                    "ioThreadsPolicy": self._one("auto", "shared"),
                    "gpus": self._one([{"name": "g", "deviceName": "nvidia.com/A10"}]),
                    "hostDevices": self._one([{"name": "h", "deviceName": "intel.com/qat"}]),
                    "annotations": self._one({"example.com/size": "large"}),
                },
            ),
        }

    def _preference(self) -> Made:
        cpu = self._some(
            0.5,
            {
                "preferredCPUTopology": self._one(
                    "sockets", "cores", "threads", "spread", "any",
                    "preferCores", "preferSockets", "preferThreads", "preferSpread", "preferAny",
                ),
                "spreadOptions": self._spread,
                "preferredCPUFeatures": self._one([{"name": "vmx", "policy": "require"}]),
            },
        )  # fmt: skip
        devices = self._some(
            0.12,
            {
                "preferredAutoattachGraphicsDevice": self._one(True, False),
                "preferredAutoattachMemBalloon": self._one(False),
                "preferredAutoattachSerialConsole": self._one(True, False),
                "preferredAutoattachPodInterface": self._one(False),
                "preferredAutoattachInputDevice": self._one(True),
                "preferredRng": self._one({}),
                "preferredTPM": self._one({}),
                "preferredNetworkInterfaceMultiQueue": self._one(True),
                "preferredBlockMultiQueue": self._one(True),
                "preferredDiskDedicatedIoThread": self._one(True),
                "preferredInterfaceModel": self._one("e1000"),
                "preferredInterfaceMasquerade": self._one({}),
                "preferredDiskBus": self._one("sata"),
            },
        )
        wishes = {
            "cpu": cpu,
            "devices": devices,
            "features": self._some(
                0.2,
                {
                    "preferredAcpi": self._one({}),
                    "preferredSmm": self._one({"enabled": True}),
                    "preferredHyperv": self._one(
                        {"vpindex": {}}, {"synictimer": {"direct": {}}}, {"evmcs": {}}
                    ),
                    "preferredKvm": self._one({"hidden": True}),
                },
            ),
            "firmware": self._some(
                0.2,
                {
                    "preferredEfi": self._one({"secureBoot": False}),
                    "preferredUseBios": self._one(True),
                },
            ),
        }
        return {
            **{key: value for key, value in wishes.items() if value},
            **self._some(
                0.12,
                {
                    "preferSpreadSocketToCoreRatio": self._one(4),
                    "preferredSubdomain": self._one("desk"),
                    "preferredTerminationGracePeriodSeconds": self._one(60),
                    "preferredArchitecture": self._one("amd64"),
                    "machine": self._one({"preferredMachineType": "q35"}),
                    "annotations": self._one({"example.com/os": "fedora"}),
                },
            ),
        }

    def _spread(self) -> Made:
        across = self._one("SocketsCores", "CoresThreads", "SocketsCoresThreads")
        return self._some(0.7, {"across": across, "ratio": self._one(2, 3, 4)})

    def _machine(self, *, sized: bool) -> Made:
        domain: Made = {"devices": self._devices()}
        if sized:
            domain["cpu"] = {"cores": self._dice.choice((1, 2, 6))}
            domain["memory"] = {"guest": self._dice.choice(("1Gi", "5Gi"))}
        elif self._may(0.25):
            domain |= self._dice.choice(
                (
                    {"cpu": {"features": [{"name": "vmx", "policy": "disable"}]}},
                    {"cpu": {"model": "Haswell"}},
                    {"cpu": {"cores": 2, "threads": 2}},
                    {"memory": {"hugepages": {"pageSize": "2Mi"}}},
                    {"memory": {"guest": "2Gi", "maxGuest": "4Gi"}},
                    {"resources": {"requests": {"cpu": "2", "memory": "1Gi"}}},
                    {"resources": {"limits": {"memory": "9Gi"}}},
                    {"resources": {"overcommitGuestOverhead": True}},
                    {"ioThreadsPolicy": "shared"},
                    {"features": {"hyperv": {"relaxed": {}, "ipi": {}, "vpindex": {}}}},
                    {"features": {"hyperv": {"evmcs": {"enabled": False}, "tlbflush": {}}}},
                    {"cpu": {"dedicatedCpuPlacement": True}},
                    {"firmware": {"bootloader": {"bios": {}}}},
                )
            )
        spec: Made = {"domain": domain, "architecture": "amd64"}
        domain["machine"] = {"type": self._dice.choice(("q35", "pc-q35-9.0"))}
        spec["volumes"] = [{"name": "root", "containerDisk": {"image": "registry/fedora"}}]
        spec |= self._some(
            0.15,
            {
                "nodeSelector": self._one({"rack": "r1"}),
                "schedulerName": self._one("theirs"),
                "evictionStrategy": self._one("LiveMigrate"),
                "tolerations": self._one([{"key": "gpu", "operator": "Exists"}]),
            },
        )
        template = {"metadata": {"labels": {"app": "erp"}}, "spec": spec}
        return {
            "apiVersion": "kubevirt.io/v1",
            "kind": "VirtualMachine",
            "metadata": {"name": "erp", "namespace": "default"},
            "spec": {"runStrategy": "Halted", "template": template},
        }

    def _devices(self) -> Made:
        return self._some(
            0.12,
            {
                "gpus": self._one([{"name": "own", "deviceName": "nvidia.com/T4"}]),
                "hostDevices": self._one([{"name": "own", "deviceName": "intel.com/qat"}]),
                "autoattachGraphicsDevice": self._one(False),
                "autoattachPodInterface": self._one(False),
                "disks": self._one([{"name": "root", "disk": {"bus": "virtio"}}]),
                "tpm": self._one({}),
            },
        )


def essence(pod: Mapping[str, Any]) -> Made:
    """Of a pod what decides where it runs, amounts as integers."""
    spec, metadata = pod["spec"], pod["metadata"]
    return {
        "labels": {
            key: value
            for key, value in (metadata.get("labels") or {}).items()
            if key != "kubevirt.io/created-by"
        },
        "nodeSelector": dict(spec.get("nodeSelector") or {}),
        "affinity": spec.get("affinity") or {},
        "tolerations": [
            item
            for item in spec.get("tolerations") or ()
            if not str(item.get("key", "")).startswith("node.kubernetes.io/")
        ],
        "schedulerName": spec.get("schedulerName") or "default-scheduler",
        "runtimeClassName": spec.get("runtimeClassName") or "",
        "containers": {
            item["name"]: _amounts(item)
            for key in ("containers", "initContainers")
            for item in spec.get(key) or ()
        },
    }


def _amounts(container: Mapping[str, Any]) -> Made:
    """With the requests that the API server takes from limits."""
    resources = container.get("resources") or {}
    found: Made = {
        side: {key: units_of(key, value) for key, value in (resources.get(side) or {}).items()}
        for side in ("requests", "limits")
    }
    return {**found, "requests": {**found["limits"], **found["requests"]}}


def recorded() -> Iterator[tuple[Made, Made]]:
    """Scenarios and what KubeVirt made of them."""
    for line in gzip.decompress(RECORD.read_bytes()).splitlines():
        item = json.loads(line)
        yield item["scenario"], item["made"]


def _record(answers: Path) -> None:
    lines = []
    for scenario, line in zip(scenarios(), answers.read_text().splitlines(), strict=True):
        said = json.loads(line)
        assert said.pop("name") == scenario["name"]
        said.pop("spec", None)
        if said.get("pod"):
            said["pod"] = essence(said["pod"])
        lines.append(json.dumps({"scenario": scenario, "made": said}, sort_keys=True))
    RECORD.write_bytes(gzip.compress("\n".join(lines).encode(), mtime=0))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        _record(Path(sys.argv[1]))
    else:
        for made in scenarios():
            print(json.dumps(made))
