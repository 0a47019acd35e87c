from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gitbot.simulation.http import Face, write_kubeconfig
from tests.contracts.api_server.faces import ApiFace, Real, Simulated, simulated_cluster
from tests.controlplane.kubevirt.connection import Connection


@pytest.fixture(params=["simulator", pytest.param("real", marks=pytest.mark.controlplane)])
def face(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ApiFace]:
    """The API server in question: every test runs on the simulated one and on the real one."""
    if request.param == "real":
        admin = request.getfixturevalue("admin")
        kubelets = request.getfixturevalue("kubelets")
        namespace = request.getfixturevalue("namespace")
        host = Real(request.getfixturevalue("plane"), kubelets, admin)
        yield ApiFace(admin, namespace, host)
        return
    with Face(simulated_cluster("contract")) as served:
        file = write_kubeconfig(tmp_path / "kubeconfig", server=served.url, context="contract")
        yield ApiFace(Connection(str(file)), "contract", Simulated(served))
