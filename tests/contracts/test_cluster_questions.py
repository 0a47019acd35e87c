"""What a diagnosis asks an API server, and what it makes of the answers."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from gitbot.adapters.kubernetes.cluster_diagnosis import GROUPS, ClusterQuestions
from gitbot.adapters.kubernetes.transport import Transport
from gitbot.errors import ClusterError, ClusterForbidden
from gitbot.simulation.http import kubeconfig_text
from tests.contracts.cluster_server import Reply, ScriptedServer, Seen

PINNED = {"properties": {"spec": {"properties": {"addedNodeSelector": {"type": "object"}}}}}
OLD = {"properties": {"spec": {"properties": {"vmiName": {"type": "string"}}}}}


@contextmanager
def questions(tmp_path: Path, answer: Any) -> Iterator[tuple[ClusterQuestions, ScriptedServer]]:
    with ScriptedServer(answer) as server:
        config = tmp_path / "kubeconfig"
        config.write_text(json.dumps(json.loads(kubeconfig_text(server=server.url, context="p"))))
        yield ClusterQuestions(Transport(kubeconfig=str(config))), server


def deciding(*allowed: tuple[str, str]) -> Any:
    """Reviews that allow these (resource, verb) and deny all others."""

    def answer(seen: Seen) -> Reply | None:
        if not seen.path.endswith("selfsubjectaccessreviews"):
            return None
        wanted = seen.body["spec"]["resourceAttributes"]
        yes = (wanted["resource"], wanted["verb"]) in allowed
        return Reply(code=201, body={**seen.body, "status": {"allowed": yes}})

    return answer


def test_rights_are_asked_one_by_one_and_nothing_is_changed(tmp_path: Path) -> None:
    allowed = ("virtualmachineinstancemigrations", "create")
    with questions(tmp_path, deciding(allowed, ("secrets", "get"))) as (asked, server):
        assert asked.missing("move") == ("delete virtualmachineinstancemigrations.kubevirt.io",)
        assert asked.missing("stop-flag") == ("get configmaps in gitbot",)
        assert len(asked.missing("read")) == len(GROUPS["read"])
        assert asked.excess() == ("get secrets",)
    assert {(seen.method, seen.path) for seen in server.seen} == {
        ("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews")
    }


RULE = {
    "apiGroups": ["kubevirt.io"],
    "resources": ["virtualmachineinstancemigrations"],
    "verbs": ["get", "create"],
}


VIRTCTL = {
    "apiGroups": ["subresources.kubevirt.io"],
    "resources": ["virtualmachines/migrate"],
    "verbs": ["update"],
}
EVICTS = {"apiGroups": [""], "resources": ["pods/eviction"], "verbs": ["create"]}


@pytest.mark.parametrize(
    ("admin", "edit", "found"),
    [
        ([RULE], [{**RULE, "verbs": ["get"]}], ("admin",)),
        ([RULE], [{**RULE, "verbs": ["*"]}], ("admin", "edit")),
        ([{**RULE, "apiGroups": ["apps"]}], None, ()),
        ([VIRTCTL], [{**VIRTCTL, "resources": ["virtualmachines/start"]}], ("admin",)),
        ([{**VIRTCTL, "resources": ["*/migrate"]}], [EVICTS], ("admin",)),
    ],
)
def test_roles_of_people_that_may_migrate_are_found(
    tmp_path: Path, admin: Any, edit: Any, found: tuple[str, ...]
) -> None:
    path = "/apis/rbac.authorization.k8s.io/v1/clusterroles/"
    roles = {f"{path}admin": admin, f"{path}edit": edit}

    def answer(seen: Seen) -> Reply:
        rules = roles[seen.path]
        return Reply(code=404 if rules is None else 200, body={"rules": rules})

    with questions(tmp_path, answer) as (asked, _):
        assert asked.migrating_roles() == found
        assert asked.evicting_roles() == (("edit",) if edit == [EVICTS] else ())


def test_roles_that_the_account_may_not_read_are_unknown(tmp_path: Path) -> None:
    with (
        questions(tmp_path, lambda _: Reply(code=403, body={})) as (asked, _),
        pytest.raises(ClusterForbidden, match="may not read ClusterRole admin"),
    ):
        asked.migrating_roles()


@pytest.mark.parametrize("code", [403, 404])
def test_a_server_that_does_not_answer_is_no_yes_and_no_no(tmp_path: Path, code: int) -> None:
    def silent(seen: Seen) -> Reply:
        return Reply(code=code, body={"kind": "Status"})

    with (
        questions(tmp_path, silent) as (asked, _),
        pytest.raises(ClusterError, match="does not say whether the account may"),
    ):
        asked.missing("move")


def test_a_review_that_rbac_denies_names_who_may_give_it(tmp_path: Path) -> None:
    def denied(seen: Seen) -> Reply:
        text = 'User "x" cannot create resource "selfsubjectaccessreviews"'
        return Reply(code=403, body={"kind": "Status", "message": text})

    with (
        questions(tmp_path, denied) as (asked, _),
        pytest.raises(ClusterForbidden, match='403: User "x" cannot create') as caught,
    ):
        asked.missing("move")
    assert "a cluster administrator" in caught.value.hint
    assert "system:basic-user" in caught.value.hint


@pytest.mark.parametrize(("schema", "pins"), [(PINNED, True), (OLD, False)])
def test_the_crd_says_whether_a_move_can_be_pinned(
    tmp_path: Path, schema: dict[str, Any], pins: bool
) -> None:
    def described(seen: Seen) -> Reply | None:
        if seen.path != "/openapi/v3/apis/kubevirt.io/v1":
            return None
        name = "io.kubevirt.v1.VirtualMachineInstanceMigration"
        return Reply(body={"components": {"schemas": {name: schema, "io.kubevirt.v1.Other": {}}}})

    with questions(tmp_path, described) as (asked, _):
        assert asked.pins() is pins


def test_a_cluster_without_kubevirt_is_said_to_be_one(tmp_path: Path) -> None:
    with (
        questions(tmp_path, lambda _: Reply(code=404, body={})) as (asked, _),
        pytest.raises(ClusterError, match="does not describe"),
    ):
        asked.pins()
