"""What virt-api fills into a new VMI, and who may change what of it."""

from typing import Any

import pytest

from gitbot.kubernetes.objects import annotations_of, at, with_value
from gitbot.kubevirt.admission import Admitted, Cause, Refused, invalid
from gitbot.simulation.kubevirt.instance_admission import admit_guest
from tests.unit.kubevirt.objects import KUBEVIRT, Object, vmi_spec

ACCOUNT = "system:serviceaccount:kubevirt:"
CONTROLLER = f"{ACCOUNT}kubevirt-controller"
PARITY = "alpha.kubevirt.io/EmulatorThreadCompleteToEvenParity"
TOPOLOGY = {"kubevirt.io/pci-topology-version": "v3"}


def instance(changes: Object) -> Object:
    """A VMI whose spec is changed at dotted paths."""
    spec = vmi_spec("None")
    for path, value in changes.items():
        spec = with_value(spec, value, *path.split("."))
    return {"kind": "VirtualMachineInstance", "metadata": {"name": "a"}, "spec": spec}


@pytest.mark.parametrize(
    ("changes", "gates", "expected"),
    [
        ({}, ("AlignCPUs",), TOPOLOGY),
        ({"domain.machine.type": "pc"}, (), {}),
        (
            {"domain.cpu": {"cores": 1, "dedicatedCpuPlacement": True, "isolateEmulatorThread": 1}},
            ("AlignCPUs",),
            {PARITY: "", **TOPOLOGY},
        ),
        (
            {"domain.launchSecurity": {"tdx": {}}},
            (),
            {"kubevirt.io/qgs-socket-path": "/var/run/tdx-qgs/qgs.socket", **TOPOLOGY},
        ),
    ],
)
def test_an_admitted_instance_gets_annotations(
    changes: Object, gates: tuple[str, ...], expected: dict[str, str]
) -> None:
    configuration = {"developerConfiguration": {"featureGates": list(gates)}}
    kubevirt = {
        "metadata": {"annotations": {PARITY: ""}},
        "spec": {"configuration": configuration},
    }
    found = admit_guest(instance(changes), None, user="bob", kubevirt=kubevirt)
    assert isinstance(found, Admitted), found
    assert annotations_of(found.object) == expected


@pytest.mark.parametrize(
    ("resources", "counts"),
    [
        ({}, (1, 1, 1)),
        ({"requests": {"cpu": "3"}}, (1, 3, 1)),
        ({"requests": {"cpu": "3"}, "limits": {"cpu": "3500m"}}, (1, 4, 1)),
    ],
)
def test_a_missing_topology_follows_from_the_resources(
    resources: Object, counts: tuple[int, int, int]
) -> None:
    made = instance({"domain.resources": resources, "domain.cpu": {}})
    found = admit_guest(made, None, user="bob", kubevirt=KUBEVIRT)
    assert isinstance(found, Admitted)
    cpu = at(found.object, "spec", "domain", "cpu")
    assert tuple(cpu[part] for part in ("cores", "sockets", "threads")) == counts


@pytest.mark.parametrize(
    ("field", "value"),
    [("domain.memory.guest", "much"), ("domain.resources.limits.cpu", "x")],
)
def test_virt_api_refuses_an_unreadable_amount(field: str, value: str) -> None:
    found = admit_guest(instance({field: value}), None, user="bob", kubevirt=KUBEVIRT)
    assert isinstance(found, Refused)
    assert found.code == 400
    assert "quantities must match the regular expression" in found.message


def changed(user: str, **changes: Any) -> Admitted | Refused:
    old = {**instance({}), "status": {"phase": "Running"}}
    return admit_guest({**old, **changes}, old, user=user, kubevirt=KUBEVIRT)


def test_only_kubevirt_writes_the_status_of_a_vmi() -> None:
    for user, phase in (("bob", "Running"), (CONTROLLER, "Failed")):
        found = changed(user, status={"phase": "Failed"})
        assert isinstance(found, Admitted)
        assert found.object["status"] == {"phase": phase}


@pytest.mark.parametrize(
    ("user", "allowed"),
    [
        (CONTROLLER, True),
        (f"{ACCOUNT}kubevirt-synchronization-controller", True),
        (f"{ACCOUNT}kubevirt-operator", False),
        ("bob", False),
    ],
)
def test_only_kubevirt_writes_reserved_labels(user: str, allowed: bool) -> None:
    found = changed(user, metadata={"name": "a", "labels": {"kubevirt.io/nodeName": "n"}})
    assert isinstance(found, Admitted) == allowed


def test_a_refusal_shows_the_first_ten_causes_and_counts_the_others() -> None:
    found = invalid("w", *(Cause(message=f"cause {number}") for number in range(13)))
    assert len(found.causes) == 10
    assert found.message.endswith("cause 9, and 3 more validation errors")
