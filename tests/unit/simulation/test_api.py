from __future__ import annotations

from typing import Any

import pytest

from gitbot.simulation.simulated_api import Api, WriteOptions
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


def test_unknown_fields_are_dropped_with_a_warning_or_refused(api: Api) -> None:
    answer = api.create(migration(addedNodeSelectr={"a": "b"}), asked=WriteOptions(dry_run=True))
    assert answer.warnings == ('unknown field "spec.addedNodeSelectr"',)
    assert answer.object["spec"] == {"vmiName": "x"}
    quiet = api.create(migration(typo=1), asked=WriteOptions(dry_run=True, validation="Ignore"))
    assert quiet.warnings == ()
    with pytest.raises(ApiError) as refused:
        api.create(migration(typo=1), asked=WriteOptions(validation="Strict"))
    assert (refused.value.code, refused.value.reason) == (400, "BadRequest")
    assert refused.value.message == (
        'VirtualMachineInstanceMigration in version "v1" cannot be handled as a '
        'VirtualMachineInstanceMigration: strict decoding error: unknown field "spec.typo"'
    )


@pytest.mark.parametrize(
    ("change", "code", "message"),
    [
        ({"kind": "Nothing"}, 400, 'no kind "Nothing" is registered'),
        ({"apiVersion": "kubevirt.io/v2"}, 400, 'for version "kubevirt.io/v2"'),
        ({"metadata": {}}, 422, "name or generateName is required"),
        ({"metadata": {"name": "Upper"}}, 422, "RFC 1123"),
        ({"metadata": {"name": "m", "namespace": "absent"}}, 404, 'namespaces "absent" not found'),
        ({"apiVersion": "v1", "kind": "Pod", "spec": {}}, 422, "spec.containers: Required value"),
        ({"apiVersion": "apps/v1", "kind": "Deployment"}, 422, "spec.selector: Required value"),
        ({"spec": {"vmiName": 7}}, 422, "must be of type string"),
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


def test_a_dry_run_stores_nothing_and_still_refuses_a_name_that_is_taken(api: Api) -> None:
    dry = api.create(migration(), asked=WriteOptions(dry_run=True)).object
    assert dry["metadata"]["uid"]
    assert list(api.store.all("VirtualMachineInstanceMigration")) == []
    api.create(migration())
    with pytest.raises(ApiError) as refused:
        api.create(migration(), asked=WriteOptions(dry_run=True))
    assert refused.value.reason == "AlreadyExists"


def test_status_and_spec_are_written_apart(api: Api) -> None:
    stored = api.create({**migration(), "status": {"phase": "Running"}}).object
    assert "status" not in stored
    both = {**stored, "spec": {"vmiName": "y"}, "status": {"phase": "Running"}}
    through_status = api.update(both, subresource="status").object
    assert through_status["spec"] == {"vmiName": "x"}
    assert through_status["status"] == {"phase": "Running"}
    current = {**through_status, "spec": {"vmiName": "z"}, "status": {}}
    through_main = api.update(current).object
    assert through_main["spec"] == {"vmiName": "z"}
    assert through_main["status"] == {"phase": "Running"}
    assert through_main["metadata"]["generation"] == 2


def test_a_pod_gets_what_the_server_adds(api: Api) -> None:
    term = {
        "labelSelector": {"matchLabels": {"app": "a"}},
        "mismatchLabelKeys": ["own"],
        "topologyKey": "zone",
    }
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"generateName": "p-", "labels": {"own": "1"}},
        "spec": {"affinity": {"podAntiAffinity": required}, "containers": [{"name": "c"}]},
    }
    stored = api.create(pod).object
    added = stored["spec"]["affinity"]["podAntiAffinity"]
    selector = added["requiredDuringSchedulingIgnoredDuringExecution"][0]["labelSelector"]
    assert selector["matchExpressions"] == [{"key": "own", "operator": "NotIn", "values": ["1"]}]
    assert [item["effect"] for item in stored["spec"]["tolerations"]] == ["NoExecute"] * 2
    assert stored["status"]["phase"] == "Pending"


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
