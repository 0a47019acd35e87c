from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gitbot.simulation.building import kubevirt
from gitbot.simulation.http import ApiServer, write_kubeconfig
from gitbot.simulation.simulated_cluster import SimulatedCluster
from tests.contracts.api_server.faces import ApiFace, Real, Simulated, simulated_cluster
from tests.contracts.api_server.kubevirt_face import KubeVirtFace
from tests.controlplane.kubevirt.connection import Connection
from tests.doubles.old_kubevirt import before_1_6

if TYPE_CHECKING:
    from tests.controlplane.kubevirt.installation import KubeVirt


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
    with ApiServer(simulated_cluster("contract")) as served:
        file = write_kubeconfig(tmp_path / "kubeconfig", server=served.url, context="contract")
        yield ApiFace(Connection(str(file)), "contract", Simulated(served))


@pytest.fixture
def kubevirt_face(request: pytest.FixtureRequest, face: ApiFace) -> Iterator[KubeVirtFace]:
    """The same with KubeVirt and four nodes."""
    if isinstance(face.host, Simulated):
        face.host.cluster.load([kubevirt(evictionStrategy="LiveMigrate")])
        yield KubeVirtFace(face, SimulatedPlayer(face.host.cluster))
        return
    running = request.getfixturevalue("kubevirt")
    player = RealPlayer(running)
    yield KubeVirtFace(face, player)
    player.back_to_today()


class SimulatedPlayer:
    """The simulator plays KubeVirt itself."""

    def __init__(self, cluster: SimulatedCluster) -> None:
        self.set_dials = cluster.set_dials
        self._cluster = cluster

    def before_1_6(self) -> None:
        self._cluster.api.schemas = before_1_6()


class RealPlayer:
    """KubeVirt's rules run beside the real API server."""

    def __init__(self, running: KubeVirt) -> None:
        self.set_dials = running.controllers.set_dials
        self._running = running
        self._changed = False

    def before_1_6(self) -> None:
        from tests.controlplane.kubevirt.installation import install_definitions  # noqa: PLC0415

        self._changed = True
        install_definitions(self._running.admin, before_1_6=True)

    def back_to_today(self) -> None:
        from tests.controlplane.kubevirt.installation import install_definitions  # noqa: PLC0415

        if self._changed:
            install_definitions(self._running.admin)
