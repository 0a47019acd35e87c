"""KubeVirt as one thing: installed (CRDs, rights, policies, webhooks), then running.

with KubeVirt(admin) as kubevirt:
    kubevirt.controllers.set_dials(handler_step=1)
    kubevirt.configure(migrations={"parallelMigrationsPerCluster": 10})
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, Self

from gitbot.simulation import building
from gitbot.simulation.served_resources import BY_KIND
from gitbot.simulation.simulated_api import CONTROLLER
from gitbot.simulation.simulation_settings import SimulationSettings
from gitbot.simulation.status_errors import ApiError
from tests.controlplane.kubevirt.connection import Connection, path_of
from tests.controlplane.kubevirt.controllers import QUICK, VirtualControllers
from tests.controlplane.kubevirt.definitions import definitions
from tests.controlplane.kubevirt.policies import ACCOUNTS, policies
from tests.controlplane.kubevirt.webhook import Webhook

NAMESPACE = "kubevirt"
PATIENCE = 30.0  # seconds until the API server serves what it was given
PROBE = {
    "apiVersion": "kubevirt.io/v1",
    "kind": "VirtualMachineInstanceMigration",
    "metadata": {"name": "probe"},
    "spec": {"vmiName": "nobody"},
}
"""A migration of nobody, to see by dry runs which admission is at work."""

_EXTENSIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_REGISTRATION = "/apis/admissionregistration.k8s.io/v1"
_RBAC = "/apis/rbac.authorization.k8s.io/v1"
_RULES = (
    {"apiGroups": ["kubevirt.io", "migrations.kubevirt.io"], "resources": ["*"], "verbs": ["*"]},
    {
        "apiGroups": [""],
        "resources": ["events", "pods", "pods/status"],
        "verbs": ["get", "list", "watch", "create", "update", "patch", "delete"],
    },
    {
        "apiGroups": ["", "node.k8s.io", "scheduling.k8s.io"],
        "resources": [
            "namespaces", "nodes", "persistentvolumeclaims", "priorityclasses", "resourcequotas",
            "runtimeclasses",
        ],
        "verbs": ["get", "list", "watch"],
    },
)  # fmt: skip


class KubeVirt:
    """KubeVirt on one API server, by an administrator's connection. A context manager.

    If something was there before, it is installed again; it stays when this ends, except for the
    webhooks' configurations: without virt-api they would refuse everything.
    """

    def __init__(
        self,
        admin: Connection,
        *,
        dials: SimulationSettings = QUICK,
        configuration: Mapping[str, Any] | None = None,
    ) -> None:
        self.admin = admin
        self._configuration = dict(configuration or {"evictionStrategy": "LiveMigrate"})
        self.webhook = Webhook(admin)
        self.controllers = VirtualControllers(admin, dials=dials)

    def __enter__(self) -> Self:
        install_definitions(self.admin)
        self._install_rights()
        self.webhook.start()
        try:
            self._install_admission()
            self.controllers.start()
        except BaseException:
            self.webhook.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.controllers.stop()
        for configuration in self.webhook.configurations():
            self._forgiving("DELETE", _path(configuration))
        self.webhook.stop()

    @contextmanager
    def without_controllers(self) -> Iterator[None]:
        """virt-controller and virt-handler are away; afterwards others take up what there is."""
        self.controllers.stop()
        assert self.controllers.failures == []
        yield
        self.controllers = VirtualControllers(self.admin, dials=self.controllers.dials)
        self.controllers.start()

    def configure(self, **configuration: Any) -> None:
        """Set `spec.configuration` of the KubeVirt object to exactly this."""
        path = path_of(BY_KIND["KubeVirt"], NAMESPACE, "kubevirt")
        current = self.admin.request("GET", path)
        self.admin.request("PUT", path, {**current, "spec": {"configuration": configuration}})

    def reset(self) -> None:
        """The configuration that it was installed with."""
        self.configure(**self._configuration)

    def _install_rights(self) -> None:
        put(self.admin, building.namespace(NAMESPACE))
        group = "rbac.authorization.k8s.io"
        role = {
            "apiVersion": f"{group}/v1",
            "kind": "ClusterRole",
            "metadata": {"name": "kubevirt-controller"},
            "rules": [dict(rule) for rule in _RULES],
        }
        binding = {
            "apiVersion": f"{group}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "kubevirt-controller"},
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "kubevirt-controller"},
            "subjects": [
                {"kind": "ServiceAccount", "namespace": NAMESPACE, "name": name.rpartition(":")[2]}
                for name in ACCOUNTS
            ],
        }
        put_at(self.admin, f"{_RBAC}/clusterroles", role)
        put_at(self.admin, f"{_RBAC}/clusterrolebindings", binding)

    def _install_admission(self) -> None:
        kubevirt = building.kubevirt(**self._configuration)
        status = kubevirt.pop("status")
        stored = put(self.admin, kubevirt)
        path = path_of(BY_KIND["KubeVirt"], NAMESPACE, "kubevirt", "status")
        self.admin.request("PUT", path, {**stored, "status": status})
        for obj in policies():
            put_at(self.admin, _path(obj).rpartition("/")[0], obj)
        wait(self._mutates, "the mutating policy works")
        for obj in self.webhook.configurations():
            put_at(self.admin, _path(obj).rpartition("/")[0], obj)
        self._wait_for_admission()

    def _mutates(self) -> bool:
        """Whether a new migration gets its finalizer; asked while no webhook looks for its VMI."""
        path = path_of(BY_KIND["VirtualMachineInstanceMigration"], "default")
        try:
            made = self.admin.request("POST", path, PROBE, query={"dryRun": "All"})
        except ApiError as refusal:
            return "does not exist" in refusal.message  # webhooks of before are still there
        return "finalizers" in made["metadata"]

    def _wait_for_admission(self) -> None:
        """Policies and webhooks take effect a moment after their creation."""
        asking = self.admin.acting_as(CONTROLLER)
        path = path_of(BY_KIND["VirtualMachineInstanceMigration"], "default")

        def webhook_answers() -> bool:
            try:
                asking.request("POST", path, PROBE, query={"dryRun": "All"})
            except ApiError as refusal:
                return "does not exist" in refusal.message
            return False

        def policies_answer() -> bool:
            try:
                urgent = {**PROBE, "spec": {"vmiName": "nobody", "priority": "system-critical"}}
                self.admin.request("POST", path, urgent, query={"dryRun": "All"})
            except ApiError as refusal:
                return "only virt-controller" in refusal.message
            return False

        wait(webhook_answers, "the webhook answers")
        wait(policies_answer, "the policies answer")

    def _forgiving(self, method: str, path: str) -> None:
        try:
            self.admin.request(method, path)
        except ApiError as refusal:
            if refusal.code != 404:
                raise


def install_definitions(admin: Connection, *, before_1_6: bool = False) -> None:
    """The CRDs, established; over those that are there."""
    wanted = definitions(before_1_6=before_1_6)
    for definition in wanted:
        put_at(admin, _EXTENSIONS, definition)
    for definition in wanted:
        group, plural = definition["spec"]["group"], definition["spec"]["names"]["plural"]
        version = definition["spec"]["versions"][0]["name"]
        wait(partial(_served, admin, f"/apis/{group}/{version}/{plural}"), plural)


def _served(admin: Connection, path: str) -> bool:
    try:
        admin.list(path)
    except ApiError:
        return False
    return True


def put(admin: Connection, obj: Mapping[str, Any]) -> dict[str, Any]:
    """Create an object of a known kind, or replace it."""
    resource = BY_KIND[obj["kind"]]
    return put_at(admin, path_of(resource, obj["metadata"].get("namespace", "")), obj)


def put_at(admin: Connection, collection: str, obj: Mapping[str, Any]) -> dict[str, Any]:
    """Create an object in a collection, or replace the one of that name."""
    try:
        return admin.request("POST", collection, obj)
    except ApiError as refusal:
        if refusal.reason != "AlreadyExists":
            raise
    path = f"{collection}/{obj['metadata']['name']}"
    version = admin.request("GET", path)["metadata"]["resourceVersion"]
    metadata = {**obj["metadata"], "resourceVersion": version}
    return admin.request("PUT", path, {**obj, "metadata": metadata})


def wait(condition: Callable[[], bool], what: str) -> None:
    """Poll until it holds. Raises TimeoutError."""
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f"after {PATIENCE:.0f} s still not: {what}")
        time.sleep(0.05)


def _path(obj: Mapping[str, Any]) -> str:
    kind = obj["kind"].lower()
    plural = f"{kind[:-1]}ies" if kind.endswith("y") else f"{kind}s"
    return f"{_REGISTRATION}/{plural}/{obj['metadata']['name']}"
