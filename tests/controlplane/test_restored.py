"""A cluster that lost namespace gitbot, then one whose etcd is from before: nothing runs twice."""

import subprocess
from pathlib import Path

import pytest

from gitbot.simulation.building import namespace, node
from gitbot.simulation.served_resources import BY_KIND
from tests.controlplane import account
from tests.controlplane.desk import Desk
from tests.controlplane.kubelet import Kubelets
from tests.controlplane.kubevirt.connection import Connection, path_of
from tests.controlplane.kubevirt.installation import KubeVirt, put
from tests.controlplane.plane import ControlPlane
from tests.controlplane.test_deploy import DEPLOY, kubectl
from tests.controlplane.vms import MIGRATION, Vms
from tests.controlplane.waiting import eventually
from tests.doubles.intents import HEAD

pytestmark = [
    pytest.mark.controlplane,
    pytest.mark.timeout(600),
    pytest.mark.usefixtures("own_pace"),
]
SHOP = "shop"
DEFAULT_ACCOUNT = f"/api/v1/namespaces/{SHOP}/serviceaccounts/default"
LEDGER = "refs/heads/gitbot/ledger"
REQUEST = f"""\
{HEAD}kind: MigrationRequest
metadata: {{name: away, namespace: {SHOP}}}
spec:
  vms: {{names: [till]}}
  target: {{node: TARGET}}
  reason: Maintenance
"""


def version(admin: Connection) -> int:
    path = path_of(BY_KIND["Namespace"])
    return int(admin.request("GET", path)["metadata"]["resourceVersion"])


def at_forge(desk: Desk, *words: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(desk.forge), *words], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def lose_the_namespace(admin: Connection) -> None:
    path = path_of(BY_KIND["Namespace"])
    admin.request("DELETE", f"{path}/gitbot")
    eventually(lambda: admin.answer("GET", f"{path}/gitbot").code == 404, seconds=60)


def test_neither_a_lost_namespace_nor_a_restored_etcd_runs_a_request_again(
    own: ControlPlane, tmp_path: Path
) -> None:
    admin, token = own.connection(), tmp_path / "kubeconfig"
    rights = str(DEPLOY / "rbac")
    assert kubectl(own, "apply", "-k", rights).startswith("namespace/gitbot created")
    kubectl(own, "apply", "--dry-run=server", "-k", rights)
    account.install(admin)  # the optional rights, too
    desk = Desk(
        tmp_path / "desk", kubeconfig=account.kubeconfig(own, admin, token), cluster=own.context
    )
    kubelets = Kubelets(own.connection("kubelets", groups=["system:masters"]))
    vms = Vms(admin, SHOP)
    kubelets.start()
    try:
        with KubeVirt(admin):
            kubelets.add(node("w1"), node("w2"))
            put(admin, namespace(SHOP))
            eventually(lambda: admin.request("GET", DEFAULT_ACCOUNT))
            first = vms.start("till")
        own.save()
        before = version(admin)
        with KubeVirt(admin):
            desk.push({"away.yaml": REQUEST.replace("TARGET", {"w1": "w2", "w2": "w1"}[first])})
            desk.gitbot("propose")
            (number,) = desk.open_pulls()
            desk.merge(number)
            assert "1 succeeded" in desk.gitbot("apply")
            assert len(vms.all(MIGRATION)) == 1
    finally:
        kubelets.stop()
    ledger = at_forge(desk, "rev-parse", LEDGER)

    lose_the_namespace(admin)
    desk.gitbot("apply", codes=(2,))  # its account is gone with it
    account.install(admin)
    account.kubeconfig(own, admin, token)
    assert "nothing to do" in desk.gitbot("apply")
    lose_the_namespace(admin)
    account.install(admin)
    account.kubeconfig(own, admin, token)
    at_forge(desk, "update-ref", "-d", LEDGER)
    at_forge(desk, "update-ref", "-d", "refs/gitbot/forge")  # a copy without pull requests
    desk.gitbot("apply", codes=(2,))
    first_line = desk.gitbot("status", codes=(1,)).splitlines()[0]
    assert f"gitbot created migration {SHOP}/gitbot-till-" in first_line
    assert at_forge(desk, "for-each-ref", LEDGER) == ""
    at_forge(desk, "update-ref", LEDGER, ledger)
    assert "nothing to do" in desk.gitbot("apply")

    ahead = version(admin)
    own.restore()
    assert version(admin) < ahead
    account.kubeconfig(own, admin, token)
    eventually(lambda: vms.all(MIGRATION) == [])  # once the API server serves them
    eventually(lambda: vms.node("till") == first)  # the cluster forgot that it moved
    assert "nothing to do" in desk.gitbot("apply")
    assert "nothing can start" not in desk.gitbot("status")
    assert vms.all(MIGRATION) == []
    desk.gitbot("ledger", "verify")
    assert before <= version(admin)
