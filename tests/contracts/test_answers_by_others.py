"""What stands before an API server answers too, and what it says is not about objects."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gitbot.adapters.kubernetes.kubernetes_cluster import KubernetesCluster
from gitbot.adapters.kubernetes.transport import Transport
from gitbot.cli.main import bug_report
from gitbot.errors import ClusterError, ClusterRefused, OutcomeUnknown
from gitbot.kubernetes.names import NamespacedName
from gitbot.simulation.http import kubeconfig_text
from tests.contracts.cluster_scene import migration
from tests.contracts.cluster_server import DATE, Reply, ScriptedServer, Seen

ONE = NamespacedName(namespace="apps", name="one")
SIGN = "canary-of-a-token"
BALANCER = Reply(code=404, body=b"default backend - 404")
NO_RESOURCE = Reply(
    code=404,
    body={"kind": "Status", "reason": "NotFound", "message": "could not find the resource"},
)


def connect(folder: Path, server: ScriptedServer, **user: Any) -> KubernetesCluster:
    config = json.loads(kubeconfig_text(server=server.url, context="prod"))
    config["users"][0]["user"] = user
    file = folder / "kubeconfig"
    file.write_text(json.dumps(config))
    return KubernetesCluster(transport=Transport(kubeconfig=str(file), sleep=lambda _: None))


def absent(name: str) -> Reply:
    details = {"name": name, "group": "kubevirt.io", "kind": "virtualmachineinstancemigrations"}
    said = {"kind": "Status", "reason": "NotFound", "message": "not found", "details": details}
    return Reply(code=404, body=said)


@pytest.mark.parametrize(
    "ask",
    [
        lambda c: c.get_migration(ONE),
        lambda c: c.get_instance(ONE),
        lambda c: c.hold_flag(),
        lambda c: c.ledger_anchors().get("ledger"),
        lambda c: c.delete_migration(ONE, uid="u"),
    ],
    ids=["migration", "instance", "stop flag", "anchor", "delete"],
)
@pytest.mark.parametrize("reply", [BALANCER, NO_RESOURCE, absent("another")])
def test_only_the_server_knows_what_is_absent(
    tmp_path: Path, ask: Callable[[KubernetesCluster], object], reply: Reply
) -> None:
    with (
        ScriptedServer(lambda _: reply) as server,
        pytest.raises(ClusterError, match="answer 404 without what is absent"),
    ):
        ask(connect(tmp_path, server))


def test_the_clock_of_a_balancer_is_not_the_servers(tmp_path: Path) -> None:
    with (
        ScriptedServer(lambda _: BALANCER) as server,
        pytest.raises(ClusterError, match="cannot read /version: answer 404"),
    ):
        connect(tmp_path, server).server_time()


def test_the_servers_own_word_counts(tmp_path: Path) -> None:
    with ScriptedServer(lambda _: absent("one")) as server:
        cluster = connect(tmp_path, server)
        assert cluster.get_migration(ONE) is None
        assert not cluster.delete_migration(ONE, uid="u")


@pytest.mark.parametrize("code", [400, 403, 407, 408, 413, 422])
def test_a_refusal_by_others_leaves_the_outcome_unknown(tmp_path: Path, code: int) -> None:
    def answer(seen: Seen) -> Reply | None:
        page = Reply(code=code, body=b"<html>request timed out</html>")
        return page if seen.method == "POST" else None

    with (
        ScriptedServer(answer) as server,
        pytest.raises(OutcomeUnknown, match=f"answer {code}, and not by the API server"),
    ):
        connect(tmp_path, server).create_migration(migration("one"))


def test_a_busy_server_refuses_in_plain_text(tmp_path: Path) -> None:
    busy = Reply(code=429, body=b"Too many requests, please try again later.")
    with (
        ScriptedServer(lambda _: busy) as server,
        pytest.raises(ClusterRefused, match="Too many requests"),
    ):
        connect(tmp_path, server).create_migration(migration("one"))


def test_a_token_file_may_end_in_a_line_end(tmp_path: Path) -> None:
    (tmp_path / "token").write_text(f"{SIGN}\n")
    with ScriptedServer() as server:
        connect(tmp_path, server, tokenFile=str(tmp_path / "token")).server_time()
    assert server.seen[0].headers["authorization"] == f"Bearer {SIGN}"


@pytest.mark.parametrize("wrong", ["\n", "\r\nX: y", "\u2026", "\x1b"])
def test_a_token_that_no_header_may_hold_is_not_quoted(tmp_path: Path, wrong: str) -> None:
    with ScriptedServer() as server, pytest.raises(ClusterError) as caught:
        connect(tmp_path, server, token=f"{SIGN}{wrong}{SIGN}").server_time()
    assert "holds a sign that no header may hold" in str(caught.value)
    assert SIGN not in str(caught.value) + bug_report(caught.value)
    assert not server.seen


@pytest.mark.parametrize(
    "date", [DATE.replace("2026", "9" * 11), DATE.replace("GMT", f"+{'9' * 20}")]
)
def test_a_date_beyond_all_clocks(tmp_path: Path, date: str) -> None:
    dated = Reply(dated=False, headers={"Date": date})
    with (
        ScriptedServer(lambda _: dated) as server,
        pytest.raises(ClusterError, match="its clock is not known"),
    ):
        connect(tmp_path, server).server_time()
