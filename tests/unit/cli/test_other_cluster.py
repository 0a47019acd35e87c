"""Another cluster behind the name of the ledger's: every command says so, and nothing starts."""

from pathlib import Path

import pytest

from tests.unit.cli.desk import Desk, at_desk, merge

ANCHOR = ("gitbot", "gitbot-ledger")
SAID = "this is another cluster than the iberia of the ledger: namespace kube-system has UID"


def replace_cluster(desk: Desk) -> None:
    """The same VMs on another cluster, whose namespace gitbot is empty."""
    cluster = desk.loop.cluster

    def replaced() -> None:
        for kind, key in (("Namespace", ("", "kube-system")), ("ConfigMap", ANCHOR)):
            if cluster.store.find(kind, key) is not None:
                cluster.store.delete(kind, key)
        system = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kube-system"}}
        cluster.store.create(system)

    cluster.load_with(replaced)


def migrations(desk: Desk) -> int:
    return len(desk.loop.cluster.list("VirtualMachineInstanceMigration"))


def test_another_cluster_of_the_name_is_found_and_gets_nothing_until_it_is_accepted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with at_desk(tmp_path, monkeypatch) as desk:
        assert desk.gitbot("move", "vm/jumpbox", "--away").code == 0
        assert desk.gitbot("check", "--pull-request", "1", "--publish").code == 0
        merge(desk, 1)
        assert desk.gitbot("hold", "--reason", "not yet", "--by", "ann").code == 0
        desk.gitbot("apply")
        desk.gitbot("apply")  # an approved request is enough to know the cluster by
        assert desk.gitbot("resume", "--by", "ann").code == 0
        replace_cluster(desk)
        before = migrations(desk)
        for words in (["apply"], ["reconcile"], ["ledger", "verify"]):
            said = desk.gitbot(*words)
            assert said.code == 2, said.text
            assert SAID in said.text
        assert desk.gitbot("status").code == 1
        assert "FAIL cluster/anchor" in desk.gitbot("doctor").out
        assert migrations(desk) == before
        said = desk.gitbot("ledger", "adopt")
        assert (said.code, "adopted" in said.out) == (0, True), said.text
        desk.gitbot("apply", "--max-runtime", "1")
        assert migrations(desk) == before + 1


def test_a_copy_without_ledger_or_anchor_starts_nothing_beside_migrations_of_gitbot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = "on this cluster, and the ledger has no line about iberia"
    with at_desk(tmp_path, monkeypatch) as desk:
        assert desk.gitbot("move", "vm/jumpbox", "--away").code == 0
        assert desk.gitbot("check", "--pull-request", "1", "--publish").code == 0
        merge(desk, 1)
        desk.gitbot("apply", "--max-runtime", "1")
        before = migrations(desk)
        forge = tmp_path / "placement.git"
        desk.git("--git-dir", str(forge), "update-ref", "-d", "refs/heads/gitbot/ledger")
        desk.git("--git-dir", str(forge), "update-ref", "-d", "refs/gitbot/forge")
        assert desk.loop.cluster.store.find("ConfigMap", ANCHOR) is None, "no namespace gitbot"
        for words in (["apply"], ["reconcile"], ["propose"], ["ledger", "verify"]):
            refused = desk.gitbot(*words)
            assert refused.code == 2, refused.text
            assert said in refused.text
        first = desk.gitbot("status")
        assert first.code == 1
        assert said in first.out.splitlines()[0]
        assert "FAIL cluster/anchor" in desk.gitbot("doctor").out
        assert migrations(desk) == before
        assert desk.git("--git-dir", str(forge), "for-each-ref", "refs/heads/gitbot/ledger") == ""
        adopted = desk.gitbot("ledger", "adopt")
        assert (adopted.code, "adopted" in adopted.out) == (0, True), adopted.text
        assert desk.gitbot("ledger", "verify").code == 0
        assert desk.gitbot("ledger", "adopt").code == 2, "nothing to adopt"
