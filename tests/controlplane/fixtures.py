"""The control plane as fixtures; tests/conftest.py makes them known to all tests.

`plane` is the real thing, once a session, without nodes: `plane.connection()` to talk to it,
`plane.kubeconfig(user)` for gitbot and kubectl. `admin` is a connection that may do everything.
`kubelets` plays nodes (`kubelets.add(node("w1"))`), which are gone after the test. `namespace` is
a fresh one, deleted after the test. `user` makes a user with exactly the given rules:

    file = user("gitbot", rules=[{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}])

Mark tests that use them `pytest.mark.controlplane`, and run them in one process (`-n 0`). What
happens in its own time is waited for with `tests.controlplane.waiting.eventually`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.controlplane import build

if TYPE_CHECKING:  # the client is heavy, and most sessions need none
    from tests.controlplane.kubelet import Kubelets
    from tests.controlplane.kubevirt.connection import Connection
    from tests.controlplane.plane import ControlPlane

RBAC = "/apis/rbac.authorization.k8s.io/v1"
UserMaker = Callable[..., Path]
_numbers = itertools.count(1)


@contextmanager
def running(folder: Path) -> Iterator[ControlPlane]:
    from tests.controlplane.plane import control_plane  # noqa: PLC0415

    programs = build.programs()
    absent = [name for name in build.COMPONENTS if name not in programs]
    if absent:
        pytest.skip(build.missing() or f"{absent[0]} is not built: run `make controlplane`")
    with control_plane(programs, folder=folder) as started:
        yield started


@pytest.fixture(scope="session")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """The control plane, started for this session and ended after it."""
    with running(tmp_path_factory.mktemp("controlplane")) as started:
        yield started


@pytest.fixture
def own(tmp_path: Path) -> Iterator[ControlPlane]:
    """A control plane of this test alone: what happens to it happens to nobody else."""
    with running(tmp_path / "plane") as started:
        yield started


@pytest.fixture(scope="session")
def admin(plane: ControlPlane) -> Connection:
    """Requests as an administrator."""
    return plane.connection()


@pytest.fixture(scope="session")
def all_kubelets(plane: ControlPlane) -> Iterator[Kubelets]:
    """The kubelets of the session."""
    from tests.controlplane.kubelet import Kubelets  # noqa: PLC0415

    kubelets = Kubelets(plane.connection("kubelets", groups=["system:masters"]))
    kubelets.start()
    yield kubelets
    kubelets.stop()


@pytest.fixture
def kubelets(all_kubelets: Kubelets) -> Iterator[Kubelets]:
    """Kubelets whose nodes are gone after the test."""
    yield all_kubelets
    all_kubelets.remove_all()


@pytest.fixture
def own_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    """Push the ledger when there is something to say: no hosted forge is there to be kind to."""
    monkeypatch.setattr("gitbot.workflows.ledger.writer.PUSHES", 60)


@pytest.fixture
def namespace(admin: Connection) -> Iterator[str]:
    """A fresh namespace with its default service account."""
    from tests.controlplane.waiting import eventually  # noqa: PLC0415

    name = f"test-{next(_numbers)}"
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    admin.request("POST", "/api/v1/namespaces", body)
    account = f"/api/v1/namespaces/{name}/serviceaccounts/default"
    eventually(lambda: admin.request("GET", account))
    yield name
    admin.request("DELETE", f"/api/v1/namespaces/{name}")


@pytest.fixture
def user(plane: ControlPlane, admin: Connection) -> Iterator[UserMaker]:
    """Makes users: the kubeconfig of one that is bound to exactly the given rules, everywhere.

    With `namespace` the rules hold in that namespace only.
    """
    made: list[str] = []

    def make(name: str, *, rules: Sequence[Mapping[str, Any]] = (), namespace: str = "") -> Path:
        scope = "" if namespace else "Cluster"
        folder = f"{RBAC}/namespaces/{namespace}" if namespace else RBAC
        allowed = {"rules": [dict(rule) for rule in rules]}
        for kind, body in (("Role", allowed), ("RoleBinding", _bound(f"{scope}Role", name))):
            path = f"{folder}/{(scope + kind).lower()}s"
            meta = {"name": name} | ({"namespace": namespace} if namespace else {})
            head = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": scope + kind}
            admin.request("POST", path, {**head, "metadata": meta, **body})
            made.append(f"{path}/{name}")
        return plane.kubeconfig(name)

    yield make
    for path in made:
        admin.request("DELETE", path)


def _bound(role: str, user_name: str) -> dict[str, Any]:
    group = "rbac.authorization.k8s.io"
    return {
        "roleRef": {"apiGroup": group, "kind": role, "name": user_name},
        "subjects": [{"apiGroup": group, "kind": "User", "name": user_name}],
    }
