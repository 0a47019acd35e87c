"""deploy/rbac on a real API server: what doctor finds, and what a node's patch may change."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from gitbot.adapters.kubernetes.cluster_diagnosis import ClusterQuestions
from gitbot.adapters.kubernetes.kubernetes_cluster import KubernetesCluster
from gitbot.adapters.kubernetes.transport import Transport
from gitbot.documents import read_kubernetes_yaml
from gitbot.errors import ClusterError, ClusterForbidden
from gitbot.kubernetes.objects import at, name_of
from gitbot.model.plan.diagnosis import Outcome
from gitbot.settings import ClusterSettings, Settings
from gitbot.simulation.building import machine, node
from gitbot.workflows.ask import rights_checks
from tests.controlplane import account
from tests.controlplane.kubevirt.installation import PROBE, install_definitions, put, put_at
from tests.controlplane.waiting import eventually

if TYPE_CHECKING:
    from tests.controlplane.kubelet import Kubelets
    from tests.controlplane.kubevirt.connection import Connection
    from tests.controlplane.plane import ControlPlane

pytestmark = pytest.mark.controlplane
AUTOSCALERS = Path(__file__).parents[2] / "deploy" / "patching" / "autoscalers.yaml"


@pytest.fixture(scope="module")
def installed(plane: ControlPlane, admin: Connection) -> ControlPlane:
    account.install(admin)
    return plane


def transport(plane: ControlPlane, admin: Connection, path: Path, name: str) -> Transport:
    config = account.kubeconfig(plane, admin, path / f"{name}.kubeconfig", name)
    return Transport(kubeconfig=str(config))


def test_the_diagnosis_knows_the_accounts_apart(
    installed: ControlPlane, admin: Connection, tmp_path: Path
) -> None:
    mover = ClusterQuestions(transport(installed, admin, tmp_path, account.MOVER))
    reader = ClusterQuestions(transport(installed, admin, tmp_path, account.READER))
    eventually(lambda: _has_everything(mover))
    assert reader.missing("read") == reader.missing("stop-flag") == ()
    assert len(reader.missing("move")) == 2
    assert reader.missing("nodes") == ("patch nodes",)
    assert mover.excess() == reader.excess() == ()


def _has_everything(questions: ClusterQuestions) -> bool:
    groups = ("read", "stop-flag", "move", "nodes")
    return all(questions.missing(group) == () for group in groups)


LABEL = "placement.gitbot.dev/window"
OWNER = {"apiVersion": "v1", "kind": "Node", "name": "other", "uid": "0"}
PATCHES: list[tuple[dict[str, Any], bool]] = [
    ({"spec": {"unschedulable": True}}, True),
    ({"metadata": {"labels": {LABEL: "firmware"}}}, True),
    ({"metadata": {"labels": {LABEL: None}}}, True),
    ({"metadata": {"labels": {"team": "mine"}}}, False),
    ({"metadata": {"labels": {"kubernetes.io/hostname": "another"}}}, False),
    ({"metadata": {"labels": {"kubernetes.io/hostname": None}}}, False),
    ({"metadata": {"annotations": {"note": "x"}}}, False),
    ({"metadata": {"finalizers": ["example.org/kept"]}}, False),
    ({"metadata": {"generateName": "x"}}, False),
    ({"metadata": {"ownerReferences": [OWNER]}}, False),
    ({"spec": {"taints": [{"key": "gitbot", "effect": "NoExecute"}]}}, False),
    ({"spec": {"providerID": "cloud://1"}}, False),
    ({"spec": {"podCIDR": "10.0.0.0/24", "podCIDRs": ["10.0.0.0/24"]}}, False),
    ({"spec": {"externalID": "1"}}, False),
]
JOB = "github:repo:acme/placement:environment:gitbot-prod"  # a user of GitHub's OpenID Connect
JOBS_RIGHTS = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRoleBinding",
    "metadata": {"name": "gitbot-job"},
    "roleRef": {
        "apiGroup": "rbac.authorization.k8s.io",
        "kind": "ClusterRole",
        "name": "gitbot-cordon",
    },
    "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": JOB}],
}


@pytest.mark.parametrize("user", [account.user_of(account.MOVER), JOB], ids=["mover", "job"])
def test_of_a_node_only_what_a_maintenance_needs_may_change(
    installed: ControlPlane, admin: Connection, kubelets: Kubelets, user: str
) -> None:
    name = f"guarded-{'job' if user == JOB else 'mover'}"
    path = f"/api/v1/nodes/{name}"
    kubelets.add(node(name))
    if user == JOB:
        bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
        admin.request("POST", bindings, JOBS_RIGHTS)
    mover = admin.acting_as(user)

    def patch(body: dict[str, Any]) -> int:
        kind = "application/merge-patch+json"
        return mover.answer("PATCH", path, body, content_type=kind).code

    probes = itertools.count()  # a patch that changes nothing is let in, policy or not

    def in_force() -> bool:  # rights and policies each take effect a moment after they were made
        allowed, refused = PATCHES[0][0], {"metadata": {"labels": {"probe": f"x{next(probes)}"}}}
        return patch(allowed) == 200 and patch(refused) in (403, 422)

    eventually(in_force)
    assert [(body, patch(body) == 200) for body, _ in PATCHES] == PATCHES
    found = admin.request("GET", path)
    assert "team" not in at(found, "metadata", "labels")
    assert at(found, "spec", "unschedulable") is True


STATE = "placement.gitbot.dev/state"
SCALER, KARPENTER = (
    "cluster-autoscaler.kubernetes.io/scale-down-disabled",
    "karpenter.sh/do-not-disrupt",
)


@pytest.fixture
def autoscalers(installed: ControlPlane, admin: Connection) -> Iterator[ControlPlane]:
    """With deploy/patching/autoscalers.yaml."""
    policy, binding = read_kubernetes_yaml(AUTOSCALERS.read_bytes(), AUTOSCALERS.name)
    for obj in (policy, binding):
        put(admin, obj)
    yield installed
    for plural in ("mutatingadmissionpolicybindings", "mutatingadmissionpolicies"):
        path = f"/apis/admissionregistration.k8s.io/v1/{plural}/{name_of(policy).name}"
        admin.request("DELETE", path)


def test_autoscalers_leave_a_node_alone_while_it_is_in_maintenance(
    autoscalers: ControlPlane, admin: Connection, kubelets: Kubelets, tmp_path: Path
) -> None:
    """Under the guard, by the patches that gitbot sends."""
    cluster = KubernetesCluster(transport=transport(autoscalers, admin, tmp_path, account.MOVER))
    kubelets.add(node("scaled"))
    path = "/api/v1/nodes/scaled"

    def notes() -> dict[str, str]:
        found: dict[str, str] = at(
            admin.request("GET", path), "metadata", "annotations", default={}
        )
        return {key: found[key] for key in (SCALER, KARPENTER) if key in found}

    def label(state: str | None) -> bool:
        cluster.patch_node_labels("scaled", {STATE: None})
        cluster.patch_node_labels("scaled", {STATE: state})
        return True

    eventually(lambda: label("draining") and notes() == {SCALER: "true", KARPENTER: "true"})
    cluster.patch_node_labels("scaled", {STATE: "ready"})
    assert notes() == {SCALER: "true", KARPENTER: "true"}
    cluster.patch_node_labels("scaled", {STATE: None})
    assert notes() == {}
    patch = {"metadata": {"annotations": {KARPENTER: "false"}}}
    admin.request("PATCH", path, patch, content_type="application/merge-patch+json")
    cluster.patch_node_labels("scaled", {STATE: "draining"})
    assert notes() == {SCALER: "true", KARPENTER: "false"}
    cluster.patch_node_labels("scaled", {STATE: None})
    assert notes() == {KARPENTER: "false"}


WHOSE = ["gitbot's", "undone and done again", "done before"]


@pytest.mark.parametrize("whose", WHOSE)
def test_the_api_server_knows_whose_cordon_stands(
    installed: ControlPlane, admin: Connection, kubelets: Kubelets, tmp_path: Path, whose: str
) -> None:
    """With the rights that gitbot has, and fields as `kubectl cordon` writes them."""
    name = f"cordoned-{WHOSE.index(whose)}"
    kubelets.add(node(name))
    cluster = KubernetesCluster(transport=transport(installed, admin, tmp_path, account.MOVER))
    mark = f"{LABEL.partition('/')[0]}/cordon"

    def by_hand(unschedulable: bool | None) -> None:
        patch = {"spec": {"unschedulable": unschedulable}}
        kind = "application/strategic-merge-patch+json"
        admin.request("PATCH", f"/api/v1/nodes/{name}", patch, content_type=kind)

    def cordoned() -> bool:
        try:
            cluster.set_unschedulable(name, True, {mark: "o1"})
        except ClusterError:
            return False
        return True

    if whose == "done before":
        by_hand(True)
    eventually(cordoned)
    if whose == "undone and done again":
        by_hand(None)
        by_hand(True)
    own = whose == "gitbot's"
    assert cluster.set_unschedulable(name, False, {mark: None}) is own
    found = admin.request("GET", f"/api/v1/nodes/{name}")
    assert bool(at(found, "spec", "unschedulable")) is not own
    assert mark not in at(found, "metadata", "labels")


RBAC = "rbac.authorization.k8s.io"
ACCOUNT = "system:serviceaccount:gitbot:gitbot-another"
EVERYTHING = {"apiGroups": ["kubevirt.io"], "resources": ["*"], "verbs": ["*"]}
MACHINES = "/apis/kubevirt.io/v1/namespaces/default/virtualmachines"
MIGRATIONS = MACHINES.replace("virtualmachines", "virtualmachineinstancemigrations")


@pytest.fixture
def too_much(installed: ControlPlane, admin: Connection) -> Iterator[None]:
    """Rights over all of KubeVirt, by mistake."""
    del installed
    install_definitions(admin)
    roles, bindings = (
        f"/apis/{RBAC}/v1/{name}" for name in ("clusterroles", "clusterrolebindings")
    )
    role = {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": {"name": "too-much"}}
    put_at(admin, roles, {**role, "rules": [EVERYTHING]})
    names = (ACCOUNT, JOB, "person")
    binding = {
        "apiVersion": f"{RBAC}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "too-much"},
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "too-much"},
        "subjects": [{"kind": "User", "apiGroup": RBAC, "name": name} for name in names],
    }
    put_at(admin, bindings, binding)
    yield
    admin.request("DELETE", f"{bindings}/too-much")
    admin.request("DELETE", f"{roles}/too-much")


@pytest.mark.parametrize("user", [ACCOUNT, JOB], ids=["account", "job"])
def test_no_vm_is_written_whatever_else_is_granted(
    too_much: None, admin: Connection, user: str
) -> None:
    del too_much
    vm = machine("kept", namespace="default", labels={}, spec={"domain": {"devices": {}}})
    put_at(admin, MACHINES, {**vm, "spec": {**vm["spec"], "runStrategy": "Halted"}})
    another = {**vm, "metadata": {"name": "another"}}
    bot, person = admin.acting_as(user), admin.acting_as("person")

    def codes(who: Connection) -> list[int]:
        patch, kind = {"metadata": {"labels": {"a": "b"}}}, "application/merge-patch+json"
        path = f"{MACHINES}/kept"
        requests: list[tuple[str, str, Any]] = [
            ("POST", MACHINES, another),
            ("PATCH", path, patch),
            ("PATCH", f"{path}/status", patch),
            ("DELETE", path, None),
            ("POST", MIGRATIONS, PROBE),
        ]
        return [
            who.answer(
                method,
                at_path,
                body,
                query={"dryRun": "All"},
                content_type=kind if method == "PATCH" else "application/json",
            ).code
            for method, at_path, body in requests
        ]

    eventually(lambda: codes(person)[1] == 200 and codes(bot)[1] != 200)
    *written, moved = codes(person)
    assert written == [201, 200, 200, 200]
    assert moved in (201, 400)  # 400: KubeVirt's webhook is at work, and there is no such VM
    assert codes(bot) == [422, 422, 422, 422, moved]
    admin.request("DELETE", f"{MACHINES}/kept")


ENFORCE = Settings(clusters=(ClusterSettings(name="prod"),), mode="Enforce")
BASIC = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/system:basic-user"


def test_a_right_that_rbac_denies_is_named_with_who_gives_it(
    installed: ControlPlane, admin: Connection, tmp_path: Path
) -> None:
    reader = ClusterQuestions(transport(installed, admin, tmp_path, account.READER))
    checks = {check.name: check for check in rights_checks(reader, ENFORCE)}
    assert checks["cluster/read"].outcome is Outcome.PASS
    denied = checks["cluster/move"]
    assert denied.outcome is Outcome.FAIL
    assert denied.message == (
        "not allowed: create virtualmachineinstancemigrations.kubevirt.io, "
        "delete virtualmachineinstancemigrations.kubevirt.io"
    )
    assert denied.fix.startswith("a cluster administrator gives it: kubectl apply -")
    assert denied.fix.endswith("or binds role gitbot-mover to the account")


def test_a_review_that_rbac_denies_names_who_may_give_it(
    installed: ControlPlane, admin: Connection, tmp_path: Path
) -> None:
    """Asking about oneself is a right too: that of system:basic-user, which clusters may narrow."""
    asker = ClusterQuestions(transport(installed, admin, tmp_path, "default"))
    eventually(lambda: len(asker.missing("move")) == 2)
    binding = admin.request("GET", BASIC)
    admin.request("DELETE", BASIC)

    def denied() -> bool:
        try:
            asker.missing("move")
        except ClusterForbidden:
            return True
        return False

    try:
        eventually(denied)
        check = rights_checks(asker, ENFORCE)[0]
    finally:
        kept = {key: binding[key] for key in ("apiVersion", "kind", "roleRef", "subjects")}
        metadata = {key: binding["metadata"][key] for key in ("name", "annotations", "labels")}
        folder = BASIC.rpartition("/")[0]
        admin.request("POST", folder, {**kept, "metadata": metadata})
        eventually(lambda: not denied())
    assert check.outcome is Outcome.FAIL
    user = account.user_of("default")
    assert f'User "{user}" cannot create resource "selfsubjectaccessreviews"' in check.message
    assert check.fix == (
        "everybody may ask by default: a cluster administrator (who may bind cluster roles) binds "
        "ClusterRole system:basic-user to group system:authenticated again"
    )
