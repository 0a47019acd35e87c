"""Random nodes: labels with holes, taints, cordons, odd amounts, images."""

from typing import Any

from tests.scheduling.dice import Dice

Object = dict[str, Any]
HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
REGION = "topology.kubernetes.io/region"
BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
ZONES = ("eu-a", "eu-b", "eu-c")
REGIONS = ("eu", "us")
RACKS = ("r1", "r2", "")
TAINT_KEYS = ("dedicated", "maintenance", "node.kubernetes.io/not-ready")
EFFECTS = ("NoSchedule", "NoExecute", "PreferNoSchedule", "PreferNoSchedule")
IMAGES = tuple(f"registry.example/app-{n}" for n in range(6))
CPU = ("1", "2", "2001m", "3900m", "4", "8", "1.5", "0")
MEMORY = ("1Gi", "2Gi", "4Gi", "3000000Ki", "2147483649", "8G", "2.5Gi", "0")
EXTENDED = ("devices.kubevirt.io/kvm", "devices.kubevirt.io/tun", "example.com/gpu")
_MI = 1024 * 1024


def node(dice: Dice, number: int, *, calm: bool) -> Object:
    """One node; a calm one has room, and rarely a taint or a cordon."""
    name = f"n{number:03}"
    spec: Object = {}
    if dice.chance(2 if calm else 10):
        spec["unschedulable"] = True
        if dice.chance(60):
            spec["taints"] = [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}]
    if dice.chance(10 if calm else 25):
        spec["taints"] = [*spec.get("taints", []), *dice.several(lambda: _taint(dice), 1, 3)]
    status: Object = {"allocatable": _ample(dice) if calm else _allocatable(dice)}
    if dice.chance(40):
        status["images"] = dice.several(lambda: _image(dice), 1, 5)
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": _labels(dice, name), "uid": f"uid-{name}"},
        "spec": spec,
        "status": status,
    }


def _labels(dice: Dice, name: str) -> dict[str, str]:
    if dice.chance(3):
        return {}
    found = {"kubernetes.io/arch": dice.pick(("amd64", "amd64", "arm64"))}
    if dice.chance(95):
        found[HOSTNAME] = name if dice.chance(93) else dice.pick((f"{name}.example", "twin"))
    if dice.chance(88):
        found[ZONE] = dice.pick(ZONES)
    if dice.chance(60):
        found[REGION] = dice.pick(REGIONS)
    if dice.chance(8):
        found[BETA_ZONE] = dice.pick(ZONES)
    if dice.chance(60):
        found["rack"] = dice.pick(RACKS)
    if dice.chance(50):
        found["generation"] = dice.pick(("1", "2", "007", "x", "9223372036854775807", ""))
    if dice.chance(88):
        found["kubevirt.io/schedulable"] = "true" if dice.chance(88) else "false"
    if dice.chance(60):
        found["cpu-model.node.kubevirt.io/Skylake"] = "true"
    return found


def _taint(dice: Dice) -> Object:
    taint = {"key": dice.pick(TAINT_KEYS), "effect": dice.pick(EFFECTS)}
    if dice.chance(50):
        taint["value"] = dice.pick(("db", "web", "5"))
    return taint


def _allocatable(dice: Dice) -> dict[str, str]:
    found = {
        "cpu": dice.pick(CPU[:-1]) if dice.chance(97) else "0",
        "memory": dice.pick(MEMORY[:-1]) if dice.chance(97) else "0",
        "pods": dice.pick(("3", "4", "6", "10", "110", "110")),
    }
    if dice.chance(70):
        found["ephemeral-storage"] = dice.pick(("1Gi", "10Gi", "100Gi"))
    for name in EXTENDED:
        if dice.chance(65):
            found[name] = dice.pick(("1", "2", "3", "1k"))
    if dice.chance(40):
        found["hugepages-2Mi"] = dice.pick(("64Mi", "128Mi", "1Gi"))
    return found


def _ample(dice: Dice) -> dict[str, str]:
    found = {
        "cpu": dice.pick(("16", "32", "31850m")),
        "memory": dice.pick(("64Gi", "128Gi", "131661096Ki")),
        "ephemeral-storage": "500Gi",
        "hugepages-2Mi": "1Gi",
        "pods": dice.pick(("110", "250")),
    }
    return found | dict.fromkeys(EXTENDED, "1k")


def _image(dice: Dice) -> Object:
    name = dice.pick(IMAGES)
    tag = dice.pick((":latest", ":v1", ":v2", "@sha256:" + "ab" * 32))
    names = [name + tag]
    if dice.chance(30):
        names.append(dice.pick(IMAGES) + ":v1")
    size = dice.number(1, 3000) * _MI + dice.number(0, 999)
    return {"names": names, "sizeBytes": size}
