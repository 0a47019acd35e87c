"""A namespace whose RoleBinding is removed while a VM of it moves: it alone waits."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gitbot.simulation.building import namespace, node
from gitbot.simulation.served_resources import BY_KIND
from tests.controlplane import account
from tests.controlplane.desk import Desk
from tests.controlplane.kubelet import Kubelets
from tests.controlplane.kubevirt.connection import Connection, path_of
from tests.controlplane.kubevirt.controllers import QUICK
from tests.controlplane.kubevirt.installation import KubeVirt, put
from tests.controlplane.plane import ControlPlane
from tests.controlplane.vms import Vms
from tests.controlplane.waiting import eventually
from tests.doubles.intents import HEAD

pytestmark = [
    pytest.mark.controlplane,
    pytest.mark.timeout(600),
    pytest.mark.usefixtures("own_pace"),
]
RBAC = "/apis/rbac.authorization.k8s.io/v1"
EVERYWHERE = f"{RBAC}/clusterrolebindings/gitbot-mover"
DENIED = "virtualmachineinstancemigrations.kubevirt.io"
SHOP, BANK = "shop", "bank"
SLOW = replace(QUICK, copy_minimum=5)  # a migration still runs when a pass of a second ends
BINDING: dict[str, Any] = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "RoleBinding",
    "metadata": {"name": "gitbot-mover"},
    "roleRef": {
        "apiGroup": "rbac.authorization.k8s.io",
        "kind": "ClusterRole",
        "name": "gitbot-mover",
    },
    "subjects": [{"kind": "ServiceAccount", "name": "gitbot-mover", "namespace": "gitbot"}],
}


def bindings(space: str) -> str:
    return f"{RBAC}/namespaces/{space}/rolebindings"


def open_namespace(admin: Connection, space: str) -> None:
    put(admin, namespace(space))
    path = f"{path_of(BY_KIND['Namespace'])}/{space}/serviceaccounts/default"
    eventually(lambda: admin.request("GET", path))
    admin.request("POST", bindings(space), BINDING)


def request(space: str, vm: str, away_from: str) -> str:
    target = {"w1": "w2", "w2": "w1"}[away_from]
    return f"""\
{HEAD}kind: MigrationRequest
metadata: {{name: {vm}, namespace: {space}}}
spec: {{vms: {{names: [{vm}]}}, target: {{node: {target}}}, reason: Maintenance}}
"""


def approve(desk: Desk, **files: str) -> None:
    desk.push({f"{name}.yaml": text for name, text in files.items()})
    desk.gitbot("propose")
    for number in sorted(desk.open_pulls()):
        desk.merge(number)


def may_create(admin: Connection, space: str, *, allowed: bool) -> None:
    """Wait until the authorizer knows."""
    resource = {
        "verb": "create",
        "group": "kubevirt.io",
        "resource": "virtualmachineinstancemigrations",
        "namespace": space,
    }
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {"user": account.user_of(account.MOVER), "resourceAttributes": resource},
    }
    path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    eventually(lambda: admin.request("POST", path, review)["status"]["allowed"] is allowed)


def test_its_namespace_alone_waits_until_the_right_is_given_back(
    own: ControlPlane, tmp_path: Path
) -> None:
    admin = own.connection()
    account.install(admin)
    config = account.kubeconfig(own, admin, tmp_path / "kubeconfig")
    desk = Desk(tmp_path / "desk", kubeconfig=config, cluster=own.context)
    kubelets = Kubelets(own.connection("kubelets", groups=["system:masters"]))
    shop, bank = Vms(admin, SHOP), Vms(admin, BANK)
    kubelets.start()
    try:
        with KubeVirt(admin, dials=SLOW):
            kubelets.add(node("w1"), node("w2"))
            for space in (SHOP, BANK):
                open_namespace(admin, space)
            admin.request("DELETE", EVERYWHERE)
            till, scale, vault = shop.start("till"), shop.start("scale"), bank.start("vault")
            approve(desk, till=request(SHOP, "till", till))
            desk.gitbot("apply", "--max-runtime", "1", codes=(0, 1, 130))
            admin.request("DELETE", f"{bindings(SHOP)}/gitbot-mover")
            may_create(admin, SHOP, allowed=False)
            approve(desk, scale=request(SHOP, "scale", scale), vault=request(BANK, "vault", vault))
            said = desk.gitbot("apply", codes=(2,))
            assert "2 succeeded" in said
            assert said.count("not allowed: ") == 1
            assert f"not allowed: {SHOP}/scale waits: not allowed to create {DENIED}" in said
            assert f'in the namespace "{SHOP}"' in said
            assert "(deploy/rbac/30-mover.yaml)" in said
            assert (shop.node("till") == till, shop.node("scale") == scale) == (False, True)
            assert bank.node("vault") != vault
            assert f"not allowed to create {DENIED}" in desk.gitbot("status", codes=(0, 1))
            admin.request("POST", bindings(SHOP), BINDING)
            may_create(admin, SHOP, allowed=True)
            eventually(lambda: "1 succeeded" in desk.gitbot("apply", codes=(0, 2)), seconds=120)
            assert shop.node("scale") != scale
    finally:
        kubelets.stop()
