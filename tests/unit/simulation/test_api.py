from typing import Any

import pytest

from gitbot.simulation.simulated_api import Api
from gitbot.simulation.status_errors import ApiError
from gitbot.simulation.store import Store
from tests.doubles.no_admission import NoAdmission


@pytest.fixture
def api() -> Api:
    made = Api(Store(seed=0, now=lambda: 0), NoAdmission())
    made.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}})
    return made


def migration(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstanceMigration",
        "metadata": {"name": "m"},
        "spec": {"vmiName": "x", **spec},
    }


@pytest.mark.parametrize(
    ("change", "code", "message"),
    [
        ({"apiVersion": "kubevirt.io/v2"}, 400, 'for version "kubevirt.io/v2"'),
        ({"apiVersion": "apps/v1", "kind": "Deployment"}, 422, "spec.selector: Required value"),
        ({"spec": {"vmiName": "x", "addedNodeSelector": ["a"]}}, 422, "must be of type object"),
    ],
)
def test_objects_that_are_refused(
    api: Api, change: dict[str, Any], code: int, message: str
) -> None:
    with pytest.raises(ApiError) as refused:
        api.create({**migration(), **change})
    assert refused.value.code == code
    assert message in refused.value.message


@pytest.mark.parametrize(
    ("phase", "node", "options", "gone"),
    [
        ("Pending", "", {}, True),
        ("Running", "a", {}, False),
        ("Running", "a", {"gracePeriodSeconds": 0}, True),
        ("Succeeded", "a", {}, True),
    ],
)
def test_the_grace_of_pods(
    api: Api, phase: str, node: str, options: dict[str, int], gone: bool
) -> None:
    spec: dict[str, Any] = {"containers": [{"name": "c"}], **({"nodeName": node} if node else {})}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": spec,
        "status": {"phase": phase},
    }
    api.create(pod)
    api.delete("Pod", ("default", "p"), options=options)
    assert (api.store.find("Pod", ("default", "p")) is None) is gone


def test_orphans_stay(api: Api) -> None:
    owner = api.create(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "owner"}}
    ).object
    reference = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "owner",
        "uid": owner["metadata"]["uid"],
    }
    metadata = {"name": "child", "ownerReferences": [reference]}
    api.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
    api.delete("ConfigMap", ("default", "owner"), options={"propagationPolicy": "Orphan"})
    child = api.store.get("ConfigMap", ("default", "child"))
    assert "ownerReferences" not in child["metadata"]
