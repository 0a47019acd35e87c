"""The controllers of this package against the simulator's API, whose own ones are off.

What they do to objects does not depend on whose API server it is; this needs no control plane.
"""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gitbot.adapters.clock import SystemClock
from gitbot.kubernetes.objects import at
from gitbot.simulation.building import kubevirt, namespace
from gitbot.simulation.controller_loop import ControllerLoop
from gitbot.simulation.controllers.evacuation_controller import Evacuations
from gitbot.simulation.controllers.instance_controller import InstanceController
from gitbot.simulation.controllers.migration_requeue import Migrations
from gitbot.simulation.controllers.node_handler import NodeHandler
from gitbot.simulation.controllers.vm_controller import Owners
from gitbot.simulation.http import ApiServer, Runner, write_kubeconfig
from gitbot.simulation.kubevirt.new_migration import new_migration
from gitbot.simulation.simulated_cluster import SimulatedCluster
from tests.controlplane.kubevirt.connection import Connection
from tests.controlplane.kubevirt.controllers import VirtualControllers
from tests.doubles.customapp import database, nodes

KUBEVIRT = (Evacuations, NodeHandler, InstanceController, Migrations, Owners)
BASE = "/apis/kubevirt.io/v1/namespaces/customapp"
PATIENCE = 30


def without_kubevirt() -> SimulatedCluster:
    """A cluster whose API server, scheduler and kubelets play, and nobody plays KubeVirt."""
    cluster = SimulatedCluster(start_time=SystemClock().now(), name="plain")
    kept = [item for item in cluster.engine._controllers if not isinstance(item, KUBEVIRT)]
    cluster.store.listeners.remove(cluster.engine._on_change)
    cluster.engine = ControllerLoop(store=cluster.store, clock=cluster.clock, controllers=kept)
    cluster.set_dials(pod_start=0, pod_stop=0)
    cluster.load([kubevirt(evictionStrategy="LiveMigrate")])
    cluster.apply([*nodes(), namespace("customapp")])
    return cluster


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[Connection]:
    with ApiServer(without_kubevirt()) as face:
        runner = Runner(face, monotonic=time.monotonic, factor=1)
        runner.start()
        path = write_kubeconfig(tmp_path / "kubeconfig", server=face.url, context="plain")
        yield Connection(str(path))
        runner.stop()


def until(condition: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.05)


def places(connection: Connection) -> dict[str, str]:
    """Running VMIs and their nodes."""
    found = connection.list(f"{BASE}/virtualmachineinstances")[0]
    return {
        vmi["metadata"]["name"]: vmi["status"]["nodeName"]
        for vmi in found
        if at(vmi, "status", "phase") == "Running"
    }


def migrate(connection: Connection, vmi: str, selector: dict[str, str]) -> dict[str, Any]:
    wanted = new_migration(namespace="customapp", vmi_name=vmi, added_node_selector=selector)
    wanted["metadata"]["generateName"] = "move-"
    return connection.request("POST", f"{BASE}/virtualmachineinstancemigrations", wanted)


def test_vmis_boot_move_and_go(connection: Connection) -> None:
    with VirtualControllers(connection) as controllers:
        path = f"{BASE}/virtualmachineinstancereplicasets"
        connection.request("POST", path, database(final=False))
        until(lambda: len(places(connection)) == 3, "three databases run")
        assert sorted(places(connection).values()) == ["kni-worker2", "kni-worker4", "kni-worker6"]
        vmi = next(name for name, node in places(connection).items() if node == "kni-worker2")
        made = migrate(connection, vmi, {"kubernetes.io/hostname": "kni-worker4"})
        until(lambda: places(connection)[vmi] == "kni-worker4", "it moves")
        name = made["metadata"]["name"]
        done = f"{BASE}/virtualmachineinstancemigrations/{name}"
        until(
            lambda: at(connection.request("GET", done), "status", "phase") == "Succeeded",
            "the migration ends",
        )
        connection.request("DELETE", f"{path}/mssql2016")
        until(lambda: not places(connection), "the VMIs go with their owner")
        assert controllers.failures == []


def test_what_was_there_before_is_taken_up(connection: Connection) -> None:
    connection.request("POST", f"{BASE}/virtualmachineinstancereplicasets", database(final=False))
    with VirtualControllers(connection) as controllers:
        until(lambda: len(places(connection)) == 3, "three databases run")
        assert controllers.failures == []
    with VirtualControllers(connection) as controllers:
        vmi = next(iter(places(connection)))
        connection.request("DELETE", f"{BASE}/virtualmachineinstances/{vmi}")
        until(lambda: vmi not in places(connection), "it goes")
        until(lambda: len(places(connection)) == 3, "its place is taken")
        assert controllers.failures == []
