"""KubeVirt on the control plane, as a fixture; tests/conftest.py makes it known to all tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:  # the client is heavy, and most sessions need none
    from tests.controlplane.kubelet import Kubelets
    from tests.controlplane.kubevirt.connection import Connection
    from tests.controlplane.kubevirt.installation import KubeVirt
    from tests.controlplane.plane import ControlPlane


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
def gitbot_kubeconfig(
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
