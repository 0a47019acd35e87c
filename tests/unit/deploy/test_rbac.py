"""The rights in deploy/rbac are those that the adapter uses, no more and no less."""

import json
import re
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from gitbot.adapters.kubernetes.followed_kubernetes_cluster import FollowedKubernetesCluster
from gitbot.adapters.kubernetes.kubernetes_cluster import KubernetesCluster
from gitbot.adapters.kubernetes.node_metrics import MetricsApi
from gitbot.adapters.kubernetes.transport import Transport
from gitbot.documents import read_kubernetes_yaml
from gitbot.kubernetes.names import NamespacedName
from gitbot.simulation.http import kubeconfig_text
from gitbot.snapshot import from_objects
from gitbot.snapshot.resources import LISTED
from tests.contracts.cluster_scene import migration
from tests.contracts.cluster_server import Reply, ScriptedServer, Seen
from tests.controlplane.waiting import eventually

FOLDER = Path(__file__).parents[3] / "deploy" / "rbac"
FILES = sorted(path.name for path in FOLDER.glob("[0-9o]*") if "guard" not in path.name)
WRITES = {"create", "update", "patch", "delete", "deletecollection", "bind", "escalate"}
ONE = NamespacedName(namespace="apps", name="one")
EVENT = {"kind": "Event", "metadata": {"namespace": "apps", "name": "one"}}
VERBS = {"POST": "create", "PATCH": "patch", "DELETE": "delete"}
Right = tuple[str, str, str]  # group, resource, verb


def objects(name: str) -> list[Mapping[str, Any]]:
    path = FOLDER / name
    files = sorted(path.glob("[!k]*.yaml")) if path.is_dir() else [path]
    return [obj for file in files for obj in read_kubernetes_yaml(file.read_bytes(), name)]


def rights(name: str) -> set[Right]:
    return {
        (group, resource, verb)
        for obj in objects(name)
        for rule in obj.get("rules", ())
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def right_of(seen: Seen) -> Right | None:
    """What RBAC is asked for a request; None for paths that every account may read."""
    found = re.fullmatch(
        r"/(?:api/v1|apis/(?P<group>[^/]+)/[^/]+)(?:/namespaces/[^/]+(?=/))?/(?P<plural>[a-z-]+)"
        r"(?P<name>/[^/]+)?",
        seen.path,
    )
    if found is None:
        assert re.fullmatch(r"/version|/apis(/[^/]+/[^/]+)?", seen.path)
        return None
    reads = "get" if found["name"] else "watch" if "watch" in seen.query else "list"
    verb = VERBS.get(seen.method) or reads
    return (found["group"] or "", found["plural"], verb)


def asked(tmp_path: Path, *calls: Callable[[KubernetesCluster], object]) -> set[Right]:
    """The rights that calls of the port need, as an API server sees them."""

    def stored(seen: Seen) -> Reply | None:
        if seen.method == "POST" and seen.path.endswith("migrations"):
            metadata = {**seen.body["metadata"], "uid": "u"}
            return Reply(code=201, body={**seen.body, "metadata": metadata})
        if seen.path == "/api/v1/namespaces" and "fieldSelector" in seen.query:
            system = {"metadata": {"name": "kube-system", "uid": "u"}}
            return Reply(code=200, body={"kind": "NamespaceList", "items": [system]})
        absent = seen.method == "PATCH" and "configmaps" in seen.path
        return Reply(code=404, body={"kind": "Status"}) if absent else None

    with ScriptedServer(stored) as server:
        config = tmp_path / "kubeconfig"
        config.write_text(json.dumps(json.loads(kubeconfig_text(server=server.url, context="p"))))
        cluster = KubernetesCluster(transport=Transport(kubeconfig=str(config)))
        for call in calls:
            call(cluster)
        return {right for seen in server.seen if (right := right_of(seen)) is not None}


def watched(tmp_path: Path) -> set[Right]:
    """The rights that following a cluster needs beside those to list it."""
    with ScriptedServer() as server:
        config = tmp_path / "kubeconfig"
        config.write_text(kubeconfig_text(server=server.url, context="p"))

        def watches() -> set[Right]:
            found = {right_of(seen) for seen in [*server.seen]}
            return {right for right in found if right is not None and right[2] == "watch"}

        cluster = FollowedKubernetesCluster(
            name="p",
            transport=Transport(kubeconfig=str(config)),
            streaming=Transport(kubeconfig=str(config)),
            say=lambda _: None,
        )
        with closing(cluster):
            cluster.snapshot()
            eventually(lambda: len(watches()) == len(LISTED))
            return watches()


def test_load_is_read_with_a_role_of_its_own(tmp_path: Path) -> None:
    with ScriptedServer() as server:
        config = tmp_path / "kubeconfig"
        config.write_text(kubeconfig_text(server=server.url, context="p"))
        MetricsApi(Transport(kubeconfig=str(config))).read(from_objects("p", [], 0))
        assert {right_of(seen) for seen in server.seen} == rights("optional-load")


def test_the_reader_has_what_reading_asks_for_and_nothing_else(tmp_path: Path) -> None:
    used = asked(
        tmp_path,
        lambda cluster: cluster.snapshot(),
        lambda cluster: cluster.server_time(),
        lambda cluster: cluster.cluster_uid(),
        lambda cluster: cluster.list_migrations(),
        lambda cluster: cluster.get_migration(ONE),
        lambda cluster: cluster.get_instance(ONE),
        lambda cluster: cluster.list_events(ONE),
        lambda cluster: cluster.hold_flag(),
    )
    roles = ("rbac.authorization.k8s.io", "clusterroles", "get")  # asked by doctor alone
    assert used | watched(tmp_path) == rights("20-reader.yaml") - {roles}
    assert {(each.group, each.plural, "list") for each in LISTED} <= used


@pytest.mark.parametrize(
    ("name", "calls"),
    [
        ("30-mover.yaml",
         (lambda cluster: cluster.create_migration(migration("one")),
          lambda cluster: cluster.delete_migration(ONE, uid="u"))),
        ("40-holder.yaml",
         (lambda cluster: cluster.hold_flag(), lambda cluster: cluster.set_hold_flag("why"),
          lambda cluster: cluster.set_hold_flag(None))),
        ("optional-ledger-anchor",
         (lambda cluster: cluster.ledger_anchors().get("placement"),
          lambda cluster: cluster.set_ledger_anchor("placement", "1 x"))),
        ("optional-events", (lambda cluster: cluster.create_event(EVENT),)),
        ("optional-cordon",
         (lambda cluster: cluster.set_unschedulable("n", True, {}),
          lambda cluster: cluster.patch_node_labels("n", {"placement.gitbot.dev/window": "w"}))),
    ],
)  # fmt: skip
def test_each_role_has_what_its_calls_ask_for(
    tmp_path: Path, name: str, calls: tuple[Callable[[KubernetesCluster], object], ...]
) -> None:
    assert asked(tmp_path, *calls) == rights(name)


@pytest.mark.parametrize("name", FILES)
def test_no_file_writes_a_vm_or_reads_a_secret(name: str) -> None:
    for group, resource, verb in rights(name):
        assert resource not in ("secrets", "*")
        assert group != "*"
        assert verb != "*"
        if verb in WRITES:
            assert resource in (
                "virtualmachineinstancemigrations", "configmaps", "nodes", "events"
            )  # fmt: skip
        if resource in ("nodes", "events") and verb in WRITES:
            assert name.startswith("optional-")


@pytest.mark.parametrize("name", FILES)
def test_only_the_mover_writes_and_only_people_stop(name: str) -> None:
    found = objects(name)
    roles = {obj["metadata"]["name"] for obj in found if obj["kind"].endswith("Role")}
    bound = {
        obj["roleRef"]["name"]: {subject["name"] for subject in obj["subjects"]}
        for obj in found
        if obj["kind"].endswith("RoleBinding")
    }
    assert set(bound) == (set() if name == "40-holder.yaml" else roles)
    accounts = (
        {"gitbot-mover"} if rights(name) & _writing(name) else {"gitbot-reader", "gitbot-mover"}
    )
    assert all(names == accounts for names in bound.values())


def _writing(name: str) -> set[Right]:
    return {right for right in rights(name) if right[2] in WRITES}
