"""KubeVirt on the control plane, as a fixture; tests/conftest.py makes it known to all tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:  # the client is heavy, and most sessions need none
    from tests.controlplane.kubelet import Kubelets
    from tests.controlplane.kubevirt.connection import Connection
    from tests.controlplane.kubevirt.installation import KubeVirt


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
