"""KubeVirt's kinds as custom resources: schemas, pruning, status, generation, tables."""

from typing import Any

import pytest

from gitbot.kubernetes.objects import at
from gitbot.simulation.building import guest, machine
from tests.contracts.api_server.faces import TABLE, Object
from tests.contracts.api_server.kubevirt_face import (
    GROUP,
    INSTANCES,
    MACHINES,
    MIGRATIONS,
    KubeVirtFace,
)


@pytest.fixture
def kube(kubevirt_face: KubeVirtFace) -> KubeVirtFace:
    return kubevirt_face


def _halted(kube: KubeVirtFace, name: str = "off") -> Object:
    """A VM that is not started."""
    made = machine(
        name, namespace=kube.face.namespace, labels={}, spec={"domain": guest(memory="1Gi")}
    )
    made["spec"]["runStrategy"] = "Halted"
    return made


def _path(kube: KubeVirtFace, plural: str = MACHINES, name: str = "", sub: str = "") -> str:
    return kube.face.path(plural, name, sub, GROUP)


def _list(kube: KubeVirtFace, plural: str, **query: str) -> Object:
    return kube.face.connection.request("GET", _path(kube, plural), query=query)


def test_items_repeat_their_kind(kube: KubeVirtFace) -> None:
    kube.face.create(_halted(kube))
    listed = _list(kube, MACHINES)
    assert (listed["kind"], listed["apiVersion"]) == ("VirtualMachineList", "kubevirt.io/v1")
    assert [(each["kind"], each["apiVersion"]) for each in listed["items"]] == [
        ("VirtualMachine", "kubevirt.io/v1")
    ]


def test_a_replacement_names_its_version(kube: KubeVirtFace) -> None:
    made = kube.face.create(_halted(kube))
    del made["metadata"]["resourceVersion"]
    code, reason, message = kube.face.refusal(
        lambda: kube.face.connection.request("PUT", _path(kube, name="off"), made)
    )
    assert (code, reason) == (422, "Invalid")
    assert "metadata.resourceVersion: Invalid value: 0: must be specified for an update" in message


@pytest.mark.parametrize(
    ("validation", "code", "warning"),
    [
        ("Strict", 400, ""),
        ("Warn", 201, '299 - "unknown field \\"spec.runStrategyy\\""'),
        ("Ignore", 201, ""),
    ],
)
def test_unknown_fields(kube: KubeVirtFace, validation: str, code: int, warning: str) -> None:
    wrong = _halted(kube)
    wrong["spec"]["runStrategyy"] = "Always"
    found = kube.face.answer("POST", _path(kube), wrong, query={"fieldValidation": validation})
    assert (found.code, found.headers.get("warning", "")) == (code, warning)
    if code == 400:
        assert 'strict decoding error: unknown field "spec.runStrategyy"' in found.body["message"]
    else:
        assert "runStrategyy" not in kube.face.get(MACHINES, "off", GROUP)["spec"]


def test_a_wrong_type_is_invalid(kube: KubeVirtFace) -> None:
    wrong: Any = _halted(kube)
    wrong["spec"]["runStrategy"] = 1
    code, reason, message = kube.face.refusal(lambda: kube.face.create(wrong))
    assert (code, reason) == (422, "Invalid")
    assert "spec.runStrategy" in message


def test_the_generation_counts_what_is_wanted(kube: KubeVirtFace) -> None:
    made = kube.face.create(_halted(kube))
    assert made["metadata"]["generation"] == 1
    path = _path(kube, name="off")
    labelled = kube.face.patch(path, {"metadata": {"labels": {"a": "b"}}})
    assert labelled["metadata"]["generation"] == 1
    changed = kube.face.patch(path, {"spec": {"template": {"metadata": {"labels": {"a": "b"}}}}})
    assert changed["metadata"]["generation"] == 2


def test_the_status_of_a_vm_is_written_apart(kube: KubeVirtFace) -> None:
    kube.face.create(_halted(kube))
    path = _path(kube, name="off")

    def status() -> Any:
        return at(kube.face.get(MACHINES, "off", GROUP), "status", "printableStatus")

    kube.eventually(lambda: status() == "Stopped")
    patched = kube.face.patch(path, {"status": {"printableStatus": "Mine"}})
    assert patched["status"]["printableStatus"] == "Stopped"


def test_a_vmi_has_no_status_of_its_own(kube: KubeVirtFace) -> None:
    kube.start("one")
    found = kube.face.answer("GET", _path(kube, INSTANCES, "one", "status"))
    assert found.code == 404
    assert kube.instance("one")["metadata"]["generation"] > 1  # its status counts as well


@pytest.mark.parametrize("plural", [MACHINES, INSTANCES, MIGRATIONS])
def test_only_names_are_fields_to_select_by(kube: KubeVirtFace, plural: str) -> None:
    assert _list(kube, plural, fieldSelector="metadata.name=none")["items"] == []
    code, reason, message = kube.face.refusal(
        lambda: _list(kube, plural, fieldSelector="spec.nodeName=x")
    )
    assert (code, reason) == (400, "BadRequest")
    assert message == "field label not supported: spec.nodeName"


@pytest.mark.parametrize(
    ("plural", "columns"),
    [
        (MACHINES, ["Name", "Age", "Status", "Ready"]),
        (
            INSTANCES,
            ["Name", "Age", "Phase", "IP", "NodeName", "Ready", "Live-Migratable", "Paused"],
        ),
        (MIGRATIONS, ["Name", "Phase", "VMI"]),
    ],
)
def test_tables(kube: KubeVirtFace, plural: str, columns: list[str]) -> None:
    table = kube.face.answer("GET", _path(kube, plural), accept=TABLE).body
    assert [each["name"] for each in table["columnDefinitions"]] == columns


def test_the_cells_of_a_vmi(kube: KubeVirtFace) -> None:
    kube.start("one")
    table = kube.face.answer("GET", _path(kube, INSTANCES), accept=TABLE).body
    cells = dict(
        zip(
            [each["name"] for each in table["columnDefinitions"]],
            table["rows"][0]["cells"],
            strict=True,
        )
    )
    del cells["Age"], cells["IP"]
    assert cells == {
        "Name": "one",
        "Phase": "Running",
        "NodeName": kube.node_of("one"),
        "Ready": "True",
        "Live-Migratable": "True",
        "Paused": cells["Paused"],
    }
    assert not cells["Paused"]
