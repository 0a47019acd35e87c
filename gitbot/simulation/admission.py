"""KubeVirt's webhooks in front of the simulated API server, by the rules of room kubevirt."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gitbot.kubevirt import names
from gitbot.kubevirt.admission import (
    admit_instance,
    admit_instance_update,
    admit_migration,
    admit_migration_update,
    malformed_migration,
)
from gitbot.kubevirt.edits import with_value
from gitbot.kubevirt.eviction import admit_eviction
from gitbot.kubevirt.machine_admission import admit_machine
from gitbot.kubevirt.reconcile import MIGRATION, VMI, Update
from gitbot.kubevirt.verdicts import Admitted, Refused, Verdict
from gitbot.model.objects import KubernetesObject, annotations_of, at
from gitbot.simulation.object_checks import check_labels
from gitbot.simulation.resources import BY_KIND
from gitbot.simulation.status import ApiError
from gitbot.simulation.store import Store, controller_of


def the_kubevirt(store: Store) -> KubernetesObject:
    """The KubeVirt object; an empty one where there is none."""
    return next(store.all("KubeVirt"), {"metadata": {"namespace": "kubevirt"}})


class KubeVirtAdmission:
    """virt-api's webhooks for VMIs, migrations and evictions."""

    def __init__(self, store: Store, down: Callable[[], bool] = lambda: False) -> None:
        self._store = store
        self._down = down

    def before_schema(self, obj: KubernetesObject) -> None:
        """Raise ApiError where the mutating webhook refuses a new object before any schema does."""
        malformed = malformed_migration(obj) if obj["kind"] == MIGRATION else None
        if malformed is not None and not self._down():
            _let_in(malformed)

    def admit(
        self, obj: KubernetesObject, old: KubernetesObject | None, *, user: str
    ) -> KubernetesObject:
        """The object as the webhooks leave it; raises ApiError where they refuse."""
        if self._down():
            _refuse_blind(obj, old)
        verdict = self._verdict(obj, old, user)
        return obj if verdict is None else _let_in(verdict)

    def _verdict(
        self, obj: KubernetesObject, old: KubernetesObject | None, user: str
    ) -> Verdict | None:
        kubevirt = the_kubevirt(self._store)
        match (obj["kind"], old):
            case (kind, None) if kind == VMI:
                return admit_instance(obj, user=user, kubevirt=kubevirt)
            case (kind, present) if kind == VMI and present is not None:
                return admit_instance_update(obj, present, user=user, kubevirt=kubevirt)
            case ("VirtualMachine", _):
                return admit_machine(obj, user=user, kubevirt=kubevirt, old=old)
            case (kind, None) if kind == MIGRATION:
                namespace = obj["metadata"]["namespace"]
                name = at(obj, "spec", "vmiName", default="")
                # the mutating webhook's label is checked before the validating one is asked
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
        """Answer an eviction; a refusal may leave its mark on the VMI first."""
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
            if isinstance(effect, Update) and not dry_run:
                self._store.replace(effect.object)
        _let_in(verdict)


def _refuse_blind(obj: KubernetesObject, old: KubernetesObject | None) -> None:
    """What virt-api must see is refused while it is away. A migration's status it never sees."""
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


def _let_in(verdict: Verdict) -> KubernetesObject:
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
