"""Every recorded answer of virt-api about migrations, VMIs and evictions, given again."""

from __future__ import annotations

from typing import Any

import pytest

from gitbot.kubevirt.admission import (
    admit_instance,
    admit_instance_update,
    admit_migration,
    admit_migration_update,
)
from gitbot.kubevirt.eviction import admit_eviction
from gitbot.kubevirt.reconcile import Update
from gitbot.kubevirt.verdicts import Admitted, Refused, Verdict
from gitbot.model.objects import at
from tests.unit.kubevirt.recordings import recorded

RECORDS: dict[str, dict[str, Any]] = {
    record["case"]: record for record in recorded("admission")["records"]
}

# What the API server decides before or beside any webhook of KubeVirt.
LEFT_OUT = {
    case
    for case, record in RECORDS.items()
    if record["answer"]["code"] in (403, 404, 409)  # rights, names, conflicts
    or record["verb"] in ("GET", "DELETE")
    or record["answer"].get("reason") in ("BadRequest", "TooManyRequests")  # strict fields, PDB
    or case.startswith("vm-")  # VirtualMachines: not written by anything here
    or case
    in {
        "vmim-create-name-long",
        "vmim-create-name-underscore",
        "vmim-create-unknown-field-Warn",  # the API server prunes what the schema does not know
        "vmim-update-spec-dropped",
        "vmim-update-status-by-bot",
        "vmi-create-affinity-no-topologykey",  # the inside of a VMI's affinity
    }
}
ASKED = sorted(set(RECORDS) - LEFT_OUT)


def instance(record: dict[str, Any], state: dict[str, Any]) -> dict[str, Any]:
    status = {
        key: state[key]
        for key in ("phase", "nodeName", "migrationState", "evacuationNodeName")
        if state.get(key)
    }
    conditions = state.get("conditions") or {}
    status["conditions"] = [{"type": name, **rest} for name, rest in conditions.items()]
    spec = {"evictionStrategy": state["evictionStrategy"]} if state.get("evictionStrategy") else {}
    return {
        "metadata": {**metadata(record, state)},
        "spec": spec,
        "status": status,
    }


def metadata(record: dict[str, Any], state: dict[str, Any]) -> dict[str, Any]:
    kept = {key: state[key] for key in ("labels", "annotations", "finalizers") if state.get(key)}
    return {"name": state["name"], "namespace": namespace(record), **kept}


def namespace(record: dict[str, Any]) -> str:
    path: str = record["path"]
    return path.split("/namespaces/")[1].split("/", maxsplit=1)[0]


def migration(record: dict[str, Any], state: dict[str, Any]) -> dict[str, Any]:
    uid = f"<uid of VirtualMachineInstanceMigration {state['name']}>"
    return {
        "metadata": {**metadata(record, state), "uid": uid},
        "spec": state["spec"],
        "status": {"phase": state.get("phase", "")},
    }


def pod(record: dict[str, Any], state: dict[str, Any]) -> dict[str, Any]:
    return {
        "metadata": metadata(record, state),
        "spec": {"nodeName": state.get("nodeName", "")},
        "status": {"phase": state.get("phase", "")},
    }


def merged(old: Any, patch: Any) -> Any:
    """RFC 7386."""
    if not isinstance(patch, dict):
        return patch
    result = dict(old) if isinstance(old, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


def find(states: list[dict[str, Any]], name: str) -> dict[str, Any] | None:
    return next((state for state in states if state["name"] == name), None)


def answer(record: dict[str, Any]) -> Verdict:
    kubevirt = {"metadata": {"namespace": "kubevirt"}, "spec": record["kubevirt"]}
    path, body = record["path"].split("?")[0], record["body"]
    user = record["user"]
    if path.endswith("/eviction"):
        return eviction(record, kubevirt)
    if path.endswith("/virtualmachineinstancemigrations"):
        named = str(at(body, "spec", "vmiName", default=""))
        found = find(record["vmis"], named)
        return admit_migration(
            body,
            user=user,
            vmi=instance(record, found) if found else None,
            migrations=[migration(record, state) for state in record["vmims"]],
            kubevirt=kubevirt,
        )
    if path.endswith("/virtualmachineinstances"):
        return admit_instance(body, user=user, kubevirt=kubevirt)
    name = path.rsplit("/", 1)[1]
    if "/virtualmachineinstancemigrations/" in path:
        state = find(record["vmims"], name)
        assert state is not None
        old = migration(record, state)
        return admit_migration_update(merged(old, body), old)
    state = find(record["vmis"], name)
    assert state is not None
    old = instance(record, state)
    return admit_instance_update(merged(old, body), old, user=user, kubevirt=kubevirt)


def eviction(record: dict[str, Any], kubevirt: dict[str, Any]) -> Verdict:
    name = record["path"].split("?")[0].split("/")[-2]
    state = find(record["pods"], name)
    assert state is not None
    vmi = find(record["vmis"], (state.get("annotations") or {}).get("kubevirt.io/domain", ""))
    dry = "dryRun" in record["path"] or bool(at(record["body"], "deleteOptions", "dryRun"))
    return admit_eviction(
        pod(record, state),
        vmi=instance(record, vmi) if vmi else None,
        kubevirt=kubevirt,
        dry_run=dry,
        annotations=at(record["body"], "metadata", "annotations", default={}),
    )


def test_what_is_left_out_belongs_to_others() -> None:
    assert len(RECORDS) == 121
    assert len(ASKED) >= 88


@pytest.mark.parametrize("case", ASKED)
def test_the_answer_is_the_recorded_one(case: str) -> None:
    record = RECORDS[case]
    expected, found = record["answer"], answer(record)
    if expected["allowed"]:
        assert isinstance(found, Admitted), found
        for path in (("metadata", "finalizers"), ("metadata", "labels"), ("spec",)):
            wanted = at(expected, "object", *path)
            if wanted is not None and "instancemigrations" in record["path"]:
                assert at(found.object, *path) == wanted
        return
    assert isinstance(found, Refused)
    assert (found.code, found.reason) == (expected["code"], expected.get("reason", ""))
    assert found.message == expected["message"]
    wanted_causes = [
        (cause.get("reason", ""), cause["message"], cause.get("field", ""))
        for cause in at(expected, "details", "causes", default=[])
    ]
    assert [(c.reason, c.message, c.field) for c in found.causes] == wanted_causes


@pytest.mark.parametrize(
    "case", [c for c in ASKED if c.startswith("evict-") and "afterwards" in RECORDS[c]]
)
def test_an_eviction_leaves_the_recorded_mark(case: str) -> None:
    record = RECORDS[case]
    vmi_name = record["path"].split("/virt-launcher-", maxsplit=1)[1].rsplit("-", 1)[0]
    before = find(record["vmis"], vmi_name) or {}
    found = answer(record)
    if not isinstance(found, Refused) or "evacuationNodeName" not in record["afterwards"]:
        return
    node = before.get("evacuationNodeName")
    for effect in found.effects:
        assert isinstance(effect, Update)
        node = at(effect.object, "status", "evacuationNodeName")
    assert node == record["afterwards"]["evacuationNodeName"]


def test_a_user_cannot_write_the_status_of_a_vmi() -> None:
    old = {"metadata": {"name": "a"}, "spec": {}, "status": {"phase": "Running"}}
    new = {**old, "status": {"phase": "Failed"}}
    kubevirt = {"metadata": {"namespace": "kubevirt"}}
    kept = admit_instance_update(new, old, user="bob", kubevirt=kubevirt)
    assert isinstance(kept, Admitted)
    assert kept.object["status"] == {"phase": "Running"}
    controller = "system:serviceaccount:kubevirt:kubevirt-controller"
    written = admit_instance_update(new, old, user=controller, kubevirt=kubevirt)
    assert isinstance(written, Admitted)
    assert written.object["status"] == {"phase": "Failed"}
