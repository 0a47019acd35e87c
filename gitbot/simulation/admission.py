"""KubeVirt's webhooks in front of the simulated API server, with the rules of room kubevirt."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from gitbot.kubernetes.objects import (
    KubernetesObject,
    annotations_of,
    at,
    controller_of,
    with_value,
)
from gitbot.kubevirt import names
from gitbot.kubevirt.admission import (
    Admitted,
    Refused,
    WebhookAnswer,
    admit_migration,
    admit_migration_update,
    malformed_migration,
)
from gitbot.kubevirt.eviction import admit_eviction
from gitbot.simulation.kubevirt.instance_admission import admit_guest
from gitbot.simulation.kubevirt.reconcile_result import MIGRATION, VMI
from gitbot.simulation.object_checks import check_labels
from gitbot.simulation.served_resources import BY_KIND
from gitbot.simulation.status_errors import ApiError
from gitbot.simulation.store import Store


def the_kubevirt(store: Store) -> KubernetesObject:
    return next(store.all("KubeVirt"), {"metadata": {"namespace": "kubevirt"}})


class AdmitGuest(Protocol):
    """virt-api's answer about a VirtualMachine or VMI that is created (`old` None) or changed."""

    def __call__(
        self,
        obj: KubernetesObject,
        old: KubernetesObject | None,
        *,
        user: str,
        kubevirt: KubernetesObject,
    ) -> WebhookAnswer:
        """Never raises to refuse: a refusal is a value."""


class KubeVirtAdmission:
    """virt-api's webhooks for VMIs, migrations and evictions.

    `guest` may have more of virt-api's rules than the wheel.
    """

    def __init__(
        self,
        store: Store,
        down: Callable[[], bool] = lambda: False,
        guest: AdmitGuest = admit_guest,
    ) -> None:
        self._store = store
        self._down = down
        self._guest = guest

    def before_schema(self, obj: KubernetesObject) -> None:
        """Raise ApiError if the mutating webhook refuses a new object before any schema does."""
        malformed = malformed_migration(obj) if obj["kind"] == MIGRATION else None
        if malformed is not None and not self._down():
            _let_in(malformed)

    def admit(
        self, obj: KubernetesObject, old: KubernetesObject | None, *, user: str
    ) -> KubernetesObject:
        """The object as the webhooks leave it; raises ApiError if they refuse."""
        if self._down():
            _refuse_blind(obj, old)
        verdict = self._verdict(obj, old, user)
        return obj if verdict is None else _let_in(verdict)

    def _verdict(
        self, obj: KubernetesObject, old: KubernetesObject | None, user: str
    ) -> WebhookAnswer | None:
        kubevirt = the_kubevirt(self._store)
        match (obj["kind"], old):
            case (kind, present) if kind in (VMI, "VirtualMachine"):
                return self._guest(obj, present, user=user, kubevirt=kubevirt)
            case (kind, None) if kind == MIGRATION:
                namespace = obj["metadata"]["namespace"]
                name = at(obj, "spec", "vmiName", default="")
                # the mutating webhook's label is checked before the validating webhook answers
                labelled = with_value(obj, name, "metadata", "labels", names.VMI_NAME)
                check_labels(BY_KIND[MIGRATION], labelled)
                return admit_migration(
                    obj,
                    user=user,
                    vmi=self._store.find(VMI, (namespace, name)),
                    migrations=self._store.all(MIGRATION, namespace),
                    kubevirt=kubevirt,
                )
            case (kind, present) if kind == MIGRATION and present is not None:
                return admit_migration_update(obj, present)
        return None

    def evict(self, pod: KubernetesObject, eviction: KubernetesObject, *, dry_run: bool) -> None:
        """Answer an eviction; even a refusal may mark the VMI first."""
        if self._down() and pod["metadata"]["name"].startswith(("virt-launcher", "hp-volume-")):
            raise _unreachable("virt-launcher-eviction-interceptor.kubevirt.io")
        namespace = pod["metadata"]["namespace"]
        owner = controller_of(pod)
        parent = None
        if owner is not None and owner["kind"] == "Pod":
            parent = self._store.find("Pod", (namespace, owner["name"]))
        launcher = pod if parent is None else parent
        name = annotations_of(launcher).get(names.DOMAIN, "")
        verdict = admit_eviction(
            pod,
            vmi=self._store.find(VMI, (namespace, name)),
            kubevirt=the_kubevirt(self._store),
            dry_run=dry_run,
            annotations=annotations_of(eviction),
            owner=parent,
        )
        for effect in verdict.effects:
            if not dry_run:
                self._store.replace(effect)
        _let_in(verdict)


def _refuse_blind(obj: KubernetesObject, old: KubernetesObject | None) -> None:
    """Refuse what virt-api must see while it is down. It never sees a migration's status."""
    mutators = {
        VMI: "virtualmachineinstances-mutator.kubevirt.io",
        MIGRATION: "migrations-mutator.kubevirt.io",
    }
    if obj["kind"] == VMI or (obj["kind"] == MIGRATION and old is None):
        raise _unreachable(mutators[obj["kind"]])
    if (
        obj["kind"] == MIGRATION
        and old is not None
        and _besides_status(obj) != _besides_status(old)
    ):
        raise _unreachable("migration-update-validator.kubevirt.io")


def _besides_status(obj: KubernetesObject) -> tuple[Any, ...]:
    metadata = obj["metadata"]
    return obj.get("spec"), *(metadata.get(k) for k in ("labels", "annotations", "finalizers"))


def _unreachable(webhook: str) -> ApiError:
    return ApiError(
        f'Internal error occurred: failed calling webhook "{webhook}": failed to call webhook: '
        "no endpoints available for service virt-api",
        code=500,
        reason="InternalError",
    )


def _let_in(verdict: WebhookAnswer) -> KubernetesObject:
    match verdict:
        case Admitted(object=obj):
            return obj
        case Refused() as refused:
            causes = [
                {"reason": cause.reason, "message": cause.message, "field": cause.field}
                for cause in refused.causes
            ]
            raise ApiError(
                refused.message,
                code=refused.code,
                reason=refused.reason,
                details={"causes": causes} if causes else {},
            )
