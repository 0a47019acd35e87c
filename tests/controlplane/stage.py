"""A whole cluster in one object: control plane, kubelets, KubeVirt; and the scenes on it."""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Self

from gitbot.kubernetes.objects import KubernetesObject, at
from gitbot.simulation.building import namespace
from gitbot.simulation.served_resources import BY_KIND
from tests.controlplane import build
from tests.controlplane.kubelet import Kubelets
from tests.controlplane.kubevirt.connection import Connection, path_of
from tests.controlplane.kubevirt.controllers import QUICK
from tests.controlplane.kubevirt.installation import KubeVirt
from tests.controlplane.plane import ControlPlane, control_plane
from tests.controlplane.waiting import eventually
from tests.doubles.customapp import NAMESPACE, application, cache, database, jumpbox_machine, nodes

VMIS = path_of(BY_KIND["VirtualMachineInstance"], NAMESPACE)
VMS = 7
HUMAN = replace(QUICK, boot=2, handler_step=1, copy_minimum=5)
"""Seconds that steps take, so that a person can watch a migration."""


class Stage:
    """Use it as a context. `say` is told in one line what happens."""

    def __init__(self, *, folder: Path, context: str, say: Callable[[str], None]) -> None:
        self._folder, self._context = folder, context
        self._say = say
        self._ends = ExitStack()
        self.plane: ControlPlane
        self.admin: Connection
        self.kubelets: Kubelets
        self.kubevirt: KubeVirt

    def __enter__(self) -> Self:
        with ExitStack() as ends:
            self._say("starting etcd, kube-apiserver, kube-scheduler, kube-controller-manager")
            running = control_plane(build.programs(), folder=self._folder, context=self._context)
            self.plane = ends.enter_context(running)
            self.admin = self.plane.connection()
            self.kubelets = Kubelets(self.plane.connection("kubelets", groups=["system:masters"]))
            self.kubelets.start()
            ends.callback(self.kubelets.stop)
            self._say("KubeVirt: CRDs, policies, webhooks, controllers")
            self.kubevirt = ends.enter_context(KubeVirt(self.admin, dials=HUMAN))
            self._ends = ends.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.close()

    def customapp(self) -> None:
        """The nodes of scene customapp, with its databases, caches and application servers."""
        made = nodes()
        self._say(f"{len(made)} nodes")
        self.kubelets.add(*made)
        self.create(namespace(NAMESPACE))
        self._say("databases, caches, application servers and a jumpbox")
        for workload in (database(final=True), cache(), application(), jumpbox_machine()):
            self.create(workload)
        eventually(self._all_run, seconds=60)

    def _all_run(self) -> bool:
        phases = [at(vmi, "status", "phase") for vmi in self.admin.list(VMIS)[0]]
        return phases == ["Running"] * VMS

    def create(self, obj: KubernetesObject) -> KubernetesObject:
        """Create an object as an administrator."""
        path = path_of(BY_KIND[obj["kind"]], obj["metadata"].get("namespace", ""))
        return self.admin.request("POST", path, obj)
