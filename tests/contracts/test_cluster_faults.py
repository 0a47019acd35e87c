"""The real adapter against an API server that fails in every way that API servers fail in."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gitbot.adapters.kubernetes.kubernetes_cluster import KubernetesCluster
from gitbot.adapters.kubernetes.transport import Transport
from gitbot.cli.shared.options import ClusterAccess, load_snapshot
from gitbot.errors import (
    ClusterError,
    ClusterForbidden,
    ClusterRefused,
    OutcomeUnknown,
    SnapshotError,
)
from gitbot.kubernetes.names import NamespacedName
from gitbot.simulation.http import kubeconfig_text
from gitbot.snapshot import LISTED, read_snapshot, write_snapshot
from tests.contracts.cluster_scene import migration
from tests.contracts.cluster_server import Answer, Reply, ScriptedServer, Seen, status

NOW = 1_796_590_800
PODS = "/api/v1/pods"
ONE = NamespacedName(namespace="apps", name="one")
Connect = Callable[..., KubernetesCluster]


@pytest.fixture
def slept() -> list[float]:
    return []


@pytest.fixture
def connect(tmp_path: Path, slept: list[float]) -> Connect:
    def make(server: ScriptedServer, **user: Any) -> KubernetesCluster:
        config = json.loads(kubeconfig_text(server=server.url, context="prod"))
        config["users"][0]["user"] = user
        file = tmp_path / "kubeconfig"
        file.write_text(json.dumps(config))
        return KubernetesCluster(transport=Transport(kubeconfig=str(file), sleep=slept.append))

    return make


def times(count: int, path: str, reply: Reply, method: str = "GET") -> Answer:
    """Give this reply the first `count` times that a path is asked for."""
    left = [count]

    def answer(seen: Seen) -> Reply | None:
        if seen.path != path or seen.method != method or not left[0]:
            return None
        left[0] -= 1
        return reply

    return answer


def page(names: str, token: str = "", version: str = "7") -> Reply:
    metadata = {"resourceVersion": version} | ({"continue": token} if token else {})
    items = [{"metadata": {"name": name, "namespace": "a"}} for name in names.split()]
    return Reply(body={"kind": "PodList", "metadata": metadata, "items": items})


def paged(seen: Seen) -> Reply | None:
    if seen.path != PODS:
        return None
    return {"": page("a b", "2"), "2": page("c", "3"), "3": page("d")}[
        seen.query.get("continue", "")
    ]


# Reading


def test_pages_are_put_together_at_one_resource_version(connect: Connect) -> None:
    with ScriptedServer(paged) as server:
        snapshot = connect(server).snapshot()
    assert [pod["metadata"]["name"] for pod in snapshot.of("Pod")] == ["a", "b", "c", "d"]
    assert (snapshot.taken_at, snapshot.resource_version) == (NOW, "7")
    lists = [seen for seen in server.of("GET") if "limit" in seen.query]
    first, rest = lists[0], [seen for seen in lists[1:] if "continue" not in seen.query]
    assert first.path == "/api/v1/nodes"
    assert "resourceVersion" not in first.query
    assert {seen.query["resourceVersion"] for seen in rest} == {"7"}
    assert {seen.query["resourceVersionMatch"] for seen in rest} == {"Exact"}


def test_an_expired_token_starts_the_whole_read_again(connect: Connect) -> None:
    gone = times(1, PODS, status(410, "Expired", "too old"))

    def second_page(seen: Seen) -> Reply | None:
        return gone(seen) if "continue" in seen.query else None

    with ScriptedServer(second_page, paged) as server:
        snapshot = connect(server).snapshot()
    assert len(snapshot.of("Pod")) == 4
    assert len([seen for seen in server.seen if seen.path == "/api/v1/nodes"]) == 2


def test_pages_without_an_end_are_no_snapshot(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gitbot.adapters.kubernetes.snapshot_reader.MOST_PAGES", 5)

    def endless(seen: Seen) -> Reply | None:
        return page("", "more") if seen.path == PODS else None

    with (
        ScriptedServer(endless) as server,
        pytest.raises(SnapshotError, match="a list of Pod has 5 pages and more"),
    ):
        connect(server).snapshot()


def test_a_body_without_an_end_is_left(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gitbot.adapters.kubernetes.transport.LARGEST", 3_000_000)
    large = Reply(body=b" " * 4_000_000)
    with (
        ScriptedServer(lambda seen: large if seen.path == PODS else None) as server,
        pytest.raises(ClusterError, match="does not end, or too slowly"),
    ):
        connect(server).snapshot()


def test_a_body_that_comes_too_slowly_is_left(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gitbot.adapters.kubernetes.transport._TIMES", -1)  # late from the start
    with (
        ScriptedServer() as server,
        pytest.raises(ClusterError, match="does not end, or too slowly"),
    ):
        connect(server).snapshot()


NESTED = b"[" * 100_000


@pytest.mark.parametrize(
    ("path", "code"), [("/version", 200), ("/apis", 200), (PODS, 200), (PODS, 403), (PODS, 404)]
)
def test_nested_json_is_no_bug(connect: Connect, path: str, code: int) -> None:
    nested = Reply(code=code, body=NESTED)
    with (
        ScriptedServer(lambda seen: nested if seen.path == path else None) as server,
        pytest.raises((ClusterError, SnapshotError)),
    ):
        connect(server).snapshot()


def test_a_wait_of_five_thousand_digits_is_a_short_one(
    connect: Connect, slept: list[float]
) -> None:
    busy = status(429, "TooManyRequests", "busy", **{"Retry-After": "9" * 5000})
    with ScriptedServer(times(1, PODS, busy)) as server:
        connect(server).snapshot()
    assert slept == [30]


def test_a_read_that_never_ends_is_no_snapshot(connect: Connect) -> None:
    with (
        ScriptedServer(times(99, PODS, status(410, "Expired", "too old"))) as server,
        pytest.raises(SnapshotError, match="forgot the state 3 times"),
    ):
        connect(server).snapshot()


def test_a_server_that_refuses_exact_versions_is_read_without(connect: Connect) -> None:
    def refuses(seen: Seen) -> Reply | None:
        exact = "resourceVersionMatch" in seen.query and seen.path == PODS
        return status(400, "BadRequest", "not here") if exact else None

    with ScriptedServer(refuses, paged) as server:
        assert len(connect(server).snapshot().of("Pod")) == 4


@pytest.mark.parametrize(
    ("path", "rule"),
    [
        (PODS,
         ('grant {apiGroups: [""], resources: ["pods"], verbs: ["list"]} '
          "in a ClusterRole or Role")),
        ("/api/v1/nodes",
         'grant {apiGroups: [""], resources: ["nodes"], verbs: ["list"]} in a ClusterRole'),
        ("/apis/kubevirt.io/v1/virtualmachineinstances",
         ('grant {apiGroups: ["kubevirt.io"], resources: ["virtualmachineinstances"], '
          'verbs: ["list"]} in a ClusterRole or Role')),
    ],
)  # fmt: skip
def test_a_missing_right_is_named_with_the_rule(connect: Connect, path: str, rule: str) -> None:
    with (
        ScriptedServer(times(9, path, status(403, "Forbidden", "no"))) as server,
        pytest.raises(ClusterForbidden) as caught,
    ):
        connect(server).snapshot()
    assert caught.value.hint == f"{rule} (deploy/rbac/20-reader.yaml)"


def test_policies_that_may_not_be_listed_are_said_and_passed_over(connect: Connect) -> None:
    path = "/apis/migrations.kubevirt.io/v1alpha1/migrationpolicies"
    with ScriptedServer(times(9, path, status(403, "Forbidden", "no"))) as server:
        snapshot = connect(server).snapshot()
    assert snapshot.denied_kinds == ("MigrationPolicy",)
    read = read_snapshot([("cluster.json.gz", write_snapshot(snapshot))], 0)
    assert read.denied_kinds == snapshot.denied_kinds


def test_a_cluster_without_kubevirt(connect: Connect) -> None:
    path = "/apis/kubevirt.io/v1/kubevirts"
    with (
        ScriptedServer(times(9, path, status(404, "NotFound", "no"))) as server,
        pytest.raises(ClusterError, match=r"does not serve KubeVirt .*install KubeVirt"),
    ):
        connect(server).snapshot()


def test_optional_groups_may_be_absent_and_are_named(connect: Connect) -> None:
    groups = Reply(
        body={"groups": [{"name": "pool.kubevirt.io", "versions": [{"version": "v1alpha1"}]}]}
    )
    with ScriptedServer(times(9, "/apis", groups)) as server:
        snapshot = connect(server).snapshot()
    optional = {each.kind for each in LISTED if not each.required}
    assert {*snapshot.absent_kinds} == optional - {"VirtualMachinePool"}
    paths = {seen.path for seen in server.seen}
    assert "/apis/pool.kubevirt.io/v1alpha1/virtualmachinepools" in paths
    assert not any("migrationpolicies" in path for path in paths)


@pytest.mark.parametrize("installed", [False, True])
def test_a_group_that_openshift_serves_need_not_have_the_deschedulers_kind(
    connect: Connect, installed: bool
) -> None:
    group, path = "operator.openshift.io", "/apis/operator.openshift.io/v1"
    groups = Reply(body={"groups": [{"name": group, "versions": [{"version": "v1"}]}]})
    names = ["consoles", *(["kubedeschedulers"] if installed else [])]
    resources = Reply(body={"resources": [{"name": name} for name in names]})
    listed = f"{path}/kubedeschedulers"
    empty = Reply(body={"metadata": {"resourceVersion": "7"}, "items": []})
    no_kind = status(404, "NotFound", "the server could not find the requested resource")
    answers = times(9, listed, empty if installed else no_kind)
    with ScriptedServer(times(9, "/apis", groups), times(9, path, resources), answers) as server:
        snapshot = connect(server).snapshot()
    assert ("KubeDescheduler" in snapshot.absent_kinds) is not installed
    assert (listed in {seen.path for seen in server.seen}) is installed


@pytest.mark.parametrize(
    ("reply", "failure", "message"),
    [
        (Reply(body=b'{"kind": "PodList", "items": ['), SnapshotError, "list of Pod cannot be"),
        (Reply(body=b"<html>proxy</html>"), SnapshotError, "list of Pod cannot be"),
        (Reply(body={"kind": "Status"}), SnapshotError, "found Status, expected items"),
        (page("a b c d e f", ""), None, ""),
        (Reply(code=302, headers={"Location": "/x"}), ClusterError, "answer 302"),
    ],
)
def test_answers_of_another_shape(
    connect: Connect, reply: Reply, failure: type[Exception] | None, message: str
) -> None:
    with ScriptedServer(times(99, PODS, reply)) as server:
        if failure is None:
            assert len(connect(server).snapshot().of("Pod")) == 6
            return
        with pytest.raises(failure, match=message):
            connect(server).snapshot()


@pytest.mark.parametrize(
    ("reply", "pauses"),
    [
        (Reply(drop=True), [0.5, 1.0]),
        (Reply(body={"items": []}, cut=3), [0.5, 1.0]),
        (status(503, "ServiceUnavailable", "busy"), [0.5, 1.0]),
        (status(429, "TooManyRequests", "busy", Retry_After="9"), [9.0, 9.0]),
        (status(429, "TooManyRequests", "busy", Retry_After="900"), [30.0, 30.0]),
        (status(500, "InternalError", "etcd"), [0.5, 1.0]),
    ],
)
def test_reads_are_repeated_within_a_budget(
    connect: Connect, slept: list[float], reply: Reply, pauses: list[float]
) -> None:
    with ScriptedServer(times(2, PODS, reply)) as server:
        connect(server).snapshot()
    assert slept == pauses


def test_a_server_that_stays_busy(connect: Connect, slept: list[float]) -> None:
    with (
        ScriptedServer(times(99, "/version", Reply(drop=True))) as server,
        pytest.raises(ClusterError, match="cannot be read"),
    ):
        connect(server).snapshot()
    assert slept == [0.5, 1.0, 2.0, 4.0]
    assert len(server.seen) == 5


def test_no_date_no_clock(connect: Connect) -> None:
    undated = times(9, "/version", Reply(body={"gitVersion": "v1"}, dated=False))
    with (
        ScriptedServer(undated) as server,
        pytest.raises(ClusterError, match="no Date header"),
    ):
        connect(server).server_time()


def test_events_are_empty_where_they_are_forbidden(connect: Connect) -> None:
    path = "/api/v1/namespaces/apps/events"
    with ScriptedServer(times(9, path, status(403, "Forbidden", "no"))) as server:
        assert connect(server).list_events(ONE) == ()


def test_an_unreadable_hold_flag_raises(connect: Connect) -> None:
    path = "/api/v1/namespaces/gitbot/configmaps/gitbot-hold"
    with (
        ScriptedServer(times(9, path, status(403, "Forbidden", "no"))) as server,
        pytest.raises(ClusterForbidden),
    ):
        connect(server).hold_flag()


def test_a_stop_flag_without_its_namespace(connect: Connect) -> None:
    maps = "/api/v1/namespaces/gitbot/configmaps"
    absent = status(404, "NotFound", "no namespace")
    answers = times(9, f"{maps}/gitbot-hold", absent, "PATCH"), times(9, maps, absent, "POST")
    with (
        ScriptedServer(*answers) as server,
        pytest.raises(ClusterError, match=r"no namespace gitbot .*make it with deploy/rbac/"),
    ):
        connect(server).set_hold_flag("x")


@pytest.mark.parametrize(
    ("write", "method", "path"),
    [
        (lambda c: c.set_unschedulable("n1", True, {}), "PATCH", "/api/v1/nodes/n1"),
        (
            lambda c: c.set_hold_flag(None),
            "DELETE",
            ("/api/v1/namespaces/gitbot/configmaps/gitbot-hold"),
        ),
        (
            lambda c: c.set_hold_flag("x"),
            "PATCH",
            ("/api/v1/namespaces/gitbot/configmaps/gitbot-hold"),
        ),
    ],
)
def test_other_writes_that_are_refused(
    connect: Connect, write: Callable[[KubernetesCluster], None], method: str, path: str
) -> None:
    no = 'nodes "n1" is forbidden: User "x" cannot patch resource "nodes" in API group ""'
    with (
        ScriptedServer(times(9, path, status(403, "Forbidden", no), method)) as server,
        pytest.raises(ClusterForbidden, match="grant "),
    ):
        write(connect(server))
    assert len(server.of(method)) == 1


def test_migrations_are_listed_anew_when_a_token_expires(connect: Connect) -> None:
    path = "/apis/kubevirt.io/v1/virtualmachineinstancemigrations"
    gone = status(410, "Expired", "too old")
    with ScriptedServer(times(1, path, gone)) as server:
        assert connect(server).list_migrations() == ()
    with (
        ScriptedServer(times(9, path, gone)) as server,
        pytest.raises(SnapshotError, match="expired 3 times"),
    ):
        connect(server).list_migrations()


@pytest.mark.parametrize(
    ("path", "reply", "message"),
    [
        ("/version", Reply(body=b"<html>"), "no Kubernetes API server there"),
        ("/apis", Reply(body={"kind": "Status"}), "not a list of API groups"),
        ("/api/v1/nodes", Reply(body={"items": []}, dated=False), "no Date header"),
    ],
)
def test_servers_that_are_no_kubernetes(
    connect: Connect, path: str, reply: Reply, message: str
) -> None:
    with (
        ScriptedServer(times(9, path, reply)) as server,
        pytest.raises(ClusterError, match=message),
    ):
        connect(server).snapshot()


@pytest.mark.parametrize("path", ["/version", "/apis"])
@pytest.mark.parametrize(
    ("code", "reason", "message"),
    [
        (403, "Forbidden", 'User "x" cannot get path'),
        (500, "InternalError", "etcdserver: no leader"),
    ],
)
def test_a_server_that_refuses_is_quoted(
    connect: Connect, path: str, code: int, reason: str, message: str
) -> None:
    with (
        ScriptedServer(times(9, path, status(code, reason, message))) as server,
        pytest.raises(ClusterError, match=f"cannot read {path}: answer {code}: {message}"),
    ):
        connect(server).snapshot()


# Credentials


def test_a_rotated_token_is_read_again_once(connect: Connect) -> None:
    unauthorized = status(401, "Unauthorized", "expired")
    with ScriptedServer(times(1, "/version", unauthorized)) as server:
        assert connect(server, token="t").server_time() == NOW
    assert len(server.seen) == 2
    assert server.seen[0].headers["authorization"] == "Bearer t"
    with (
        ScriptedServer(times(9, "/version", unauthorized)) as server,
        pytest.raises(ClusterError, match="does not accept the credentials"),
    ):
        connect(server).server_time()


def test_an_exec_plugin_brings_the_token(connect: Connect, tmp_path: Path) -> None:
    credential = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "kind": "ExecCredential",
        "status": {"token": "from-plugin"},
    }
    plugin = tmp_path / "plugin.py"
    plugin.write_text(f"print({json.dumps(json.dumps(credential))})")
    user = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": sys.executable,
        "args": [str(plugin)],
        "interactiveMode": "Never",
    }
    with ScriptedServer() as server:
        connect(server, exec=user).server_time()
    assert server.seen[0].headers["authorization"] == "Bearer from-plugin"


@pytest.mark.parametrize(
    ("text", "context", "message"),
    [
        (None, "", "no cluster to talk to"),
        ("{", "", "no cluster to talk to"),
        ("hello", "", "is not a kubeconfig"),
        ('{"kind": "Config"}', "", "no cluster to talk to"),
        (
            kubeconfig_text(server="http://127.0.0.1:1", context="a"),
            "b",
            "the kubeconfig has no context b; it has a",
        ),
    ],
)
def test_kubeconfigs_that_lead_nowhere(
    tmp_path: Path, text: str | None, context: str, message: str
) -> None:
    file = tmp_path / "kubeconfig"
    if text is not None:
        file.write_text(text)
    with pytest.raises(ClusterError, match=message) as caught:
        KubernetesCluster(kubeconfig=str(file), context=context)
    assert "--context" in caught.value.hint
    assert "--snapshot" not in caught.value.hint
    access = ClusterAccess(kubeconfig=str(file), context=context)
    with pytest.raises(ClusterError) as caught:  # a command that takes files says so
        load_snapshot(access, now=0)
    assert str(caught.value).endswith(
        "--context, or --snapshot FILE or --published to work without a cluster"
    )


@pytest.mark.parametrize(
    "proxy", ["u:SECRET@127.0.0.1:1", "http://u:SECRET#x@h", "http://u:SECRET@h:p", "socks5://h:1"]
)
def test_a_proxy_of_no_use_is_no_bug_and_its_password_is_not_printed(
    tmp_path: Path, proxy: str
) -> None:
    file = tmp_path / "kubeconfig"
    document = json.loads(kubeconfig_text(server="https://127.0.0.1:1", context="a"))
    document["clusters"][0]["cluster"]["proxy-url"] = proxy
    file.write_text(json.dumps(document))
    with pytest.raises(ClusterError, match="names no usable proxy") as caught:
        KubernetesCluster(kubeconfig=str(file), context="a")
    assert "SECRET" not in str(caught.value)
    assert caught.value.__cause__ is None


# Writing

CREATE = "/apis/kubevirt.io/v1/namespaces/apps/virtualmachineinstancemigrations"
STORED = migration("one") | {"metadata": {"name": "one", "namespace": "apps", "uid": "u"}}


@pytest.mark.parametrize(
    ("reply", "failure", "words"),
    [
        (Reply(drop=True), OutcomeUnknown, "the answer was lost"),
        (Reply(code=201, body=STORED, cut=9), OutcomeUnknown, "the answer was lost"),
        (Reply(code=201, body=b'{"metadata": {"na'), OutcomeUnknown, "the answer is damaged"),
        (Reply(code=201, body={}), OutcomeUnknown, "does not contain it"),
        (status(500, "InternalError", "etcdserver: timeout"), OutcomeUnknown, "answer 500"),
        (status(504, "Timeout", "took too long"), OutcomeUnknown, "answer 504"),
        (status(409, "AlreadyExists", "it is there"), ClusterRefused, "it is there"),
        (status(422, "Invalid", "in-flight migration"), ClusterRefused, "in-flight"),
        (status(400, "BadRequest", "unknown field"), ClusterRefused, "unknown field"),
        (
            status(403, "Forbidden", 'admission webhook "m" denied the request: no'),
            ClusterRefused,
            "denied the request",
        ),
        (
            status(403, "Forbidden", 'User "x" cannot create resource "vmims" in API group'),
            ClusterForbidden,
            'verbs: ["create"]',
        ),
        (
            status(403, "Forbidden", 'admission webhook "m" denied it: VM cannot use resource gpu'),
            ClusterRefused,
            "cannot use resource gpu",
        ),
        (status(429, "TooManyRequests", "busy", Retry_After="9"), ClusterRefused, "busy"),
    ],
)
def test_a_create_is_sent_once_whatever_comes_back(
    connect: Connect, slept: list[float], reply: Reply, failure: type[ClusterError], words: str
) -> None:
    with (
        ScriptedServer(times(9, CREATE, reply, "POST")) as server,
        pytest.raises(failure) as caught,
    ):
        connect(server).create_migration(migration("one"))
    assert type(caught.value) is failure
    assert words in str(caught.value)
    assert len(server.of("POST")) == 1
    assert slept == []


def test_codes_and_reasons_of_a_refusal(connect: Connect) -> None:
    with (
        ScriptedServer(times(9, CREATE, status(409, "AlreadyExists", "x"), "POST")) as server,
        pytest.raises(ClusterRefused) as caught,
    ):
        connect(server).create_migration(migration("one"))
    assert (caught.value.code, caught.value.reason) == (409, "AlreadyExists")


def test_a_write_that_was_never_sent_is_known_not_to_have_happened(
    tmp_path: Path, connect: Connect
) -> None:
    with ScriptedServer() as server:
        cluster = connect(server)
    with pytest.raises(ClusterError, match="was not sent") as caught:
        cluster.create_migration(migration("one"))
    assert not isinstance(caught.value, OutcomeUnknown)


def test_what_a_create_sends(connect: Connect) -> None:
    with ScriptedServer(times(9, CREATE, Reply(code=201, body=STORED), "POST")) as server:
        connect(server).create_migration(migration("one"))
        connect(server).create_migration(migration("one"), dry_run=True)
    real, dry = server.of("POST")
    assert real.body == migration("one")
    assert dict(real.query) == {"fieldValidation": "Strict", "fieldManager": "gitbot"}
    assert dict(dry.query) == {**real.query, "dryRun": "All"}


def test_what_the_other_writes_send(connect: Connect) -> None:
    with ScriptedServer() as server:
        cluster = connect(server)
        cluster.delete_migration(ONE, uid="u")
        cluster.patch_node_labels("n1", {"placement.gitbot.dev/state": None})
        cluster.set_unschedulable("n1", True, {"placement.gitbot.dev/cordon": "o1"})
        cluster.set_hold_flag("x")
    sent = [(seen.method, seen.path, seen.body) for seen in server.seen]
    flag = "/api/v1/namespaces/gitbot/configmaps/gitbot-hold"
    options = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": "u"}}
    assert sent == [
        ("DELETE", f"{CREATE}/one", options),
        (
            "PATCH",
            "/api/v1/nodes/n1",
            {"metadata": {"labels": {"placement.gitbot.dev/state": None}}},
        ),
        (
            "PATCH",
            "/api/v1/nodes/n1",
            {
                "metadata": {"labels": {"placement.gitbot.dev/cordon": "o1"}},
                "spec": {"unschedulable": True},
            },
        ),
        ("PATCH", flag, {"data": {"reason": "x"}}),
    ]
    kinds = {seen.headers.get("content-type") for seen in server.of("PATCH")}
    assert kinds == {"application/merge-patch+json"}


@pytest.mark.parametrize(("code", "gone"), [(200, True), (202, True), (404, False), (409, False)])
def test_deleting_what_may_be_gone(connect: Connect, code: int, gone: bool) -> None:
    said = {"kind": "Status", "reason": "NotFound", "details": {"name": "one"}}
    answer = times(9, f"{CREATE}/one", Reply(code=code, body=said), "DELETE")
    with ScriptedServer(answer) as server:
        assert connect(server).delete_migration(ONE, uid="u") is gone


WROTE: dict[str, Any] = {"f:spec": {"f:unschedulable": {}}}
LABELLED: dict[str, Any] = {"f:metadata": {"f:labels": {"f:placement.gitbot.dev/cordon": {}}}}


@pytest.mark.parametrize(
    ("entries", "own"),
    [
        ([], True),
        ([{"manager": "gitbot", "fieldsV1": WROTE}], True),
        ([{"manager": "gitbot", "fieldsV1": LABELLED}], True),
        (
            [
                {"manager": "gitbot", "fieldsV1": LABELLED},
                {"manager": "kubectl", "fieldsV1": WROTE},
            ],
            False,
        ),
        ([{"manager": "gitbot", "fieldsV1": WROTE}, {"manager": "it", "fieldsV1": WROTE}], True),
    ],
)
def test_a_cordon_that_somebody_else_wrote_is_left(
    connect: Connect, entries: list[dict[str, Any]], own: bool
) -> None:
    mark = {"placement.gitbot.dev/cordon": None}

    def nodes(seen: Seen) -> Reply | None:
        item = {"metadata": {"name": "n1", "managedFields": entries}}
        return Reply(body={"kind": "NodeList", "items": [item]}) if seen.method == "GET" else None

    with ScriptedServer(nodes) as server:
        assert connect(server).set_unschedulable("n1", False, mark) is own
    asked, patched = server.seen
    assert (asked.path, dict(asked.query)) == (
        "/api/v1/nodes",
        {"fieldSelector": "metadata.name=n1"},
    )
    spec = {"spec": {"unschedulable": None}} if own else {}
    assert patched.body == {"metadata": {"labels": mark}, **spec}


@pytest.mark.parametrize("body", [b"<html>", b'{"items": 3}', b"[]", b"{}", b'{"items"'])
def test_nothing_is_uncordoned_on_a_damaged_answer(connect: Connect, body: bytes) -> None:
    def nodes(seen: Seen) -> Reply | None:
        return Reply(body=body) if seen.method == "GET" else None

    with ScriptedServer(nodes) as server, pytest.raises(ClusterError):
        connect(server).set_unschedulable("n1", False, {})
    assert server.of("PATCH") == []
