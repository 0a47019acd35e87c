"""Everything that one pass over a migration reads."""

from __future__ import annotations

from dataclasses import dataclass

from gitbot.kubernetes.objects import Json, KubernetesObject, at, name_of, uid_of
from gitbot.kubernetes.phases import is_final
from gitbot.kubevirt.launcher_pod import hotplugged_volumes, is_deleting, is_ready
from gitbot.simulation.kubevirt.attachment_pod import attachment_pods
from gitbot.simulation.kubevirt.launchers import target_pods, vmi_of
from gitbot.simulation.kubevirt.reconcile_result import MIGRATIONS_OF_VMI, ObjectView


@dataclass(frozen=True, slots=True, kw_only=True)
class MigrationScene:
    """A migration, its VMI, its target pod if it has one, and the view. `now` in seconds."""

    view: ObjectView
    migration: KubernetesObject
    vmi: KubernetesObject
    target: KubernetesObject | None
    now: int

    @classmethod
    def of(cls, view: ObjectView, migration: KubernetesObject, now: int) -> MigrationScene | None:
        vmi = vmi_of(view, migration)
        if vmi is None:
            return None
        targets = target_pods(view, migration, vmi)
        target = targets[0] if targets else None
        return cls(view=view, migration=migration, vmi=vmi, target=target, now=now)

    @property
    def uid(self) -> str:
        return uid_of(self.migration)

    @property
    def state(self) -> Json | None:
        """The VMI's migrationState; until hand-off that of an earlier migration."""
        state: Json | None = at(self.vmi, "status", "migrationState")
        return state

    @property
    def own_state(self) -> Json | None:
        """The VMI's migrationState if it is about this migration."""
        return self.state if at(self.state, "migrationUid") == self.uid else None

    @property
    def canceled(self) -> bool:
        return is_deleting(self.migration)

    @property
    def text(self) -> str:
        return str(name_of(self.vmi))

    def other_owner(self) -> bool:
        owner = at(self.state, "migrationUid", default="")
        if owner in ("", self.uid):
            return False
        return any(
            uid_of(item) == owner and not is_final(item)
            for item in self.view.select(MIGRATIONS_OF_VMI, self.text)
        )

    def attached(self) -> bool:
        """Whether the target pod has everything: hotplugged volumes need a pod each."""
        if self.target is None:
            return False
        if not hotplugged_volumes(self.vmi):
            return True
        return any(is_ready(pod) for pod in attachment_pods(self.view, self.target))

    def detached(self) -> bool:
        """Whether a pod that holds hotplugged volumes for the target has ended."""
        if self.target is None or not hotplugged_volumes(self.vmi):
            return False
        return any(is_final(pod) for pod in attachment_pods(self.view, self.target))

    def kubevirt(self) -> KubernetesObject:
        found = self.view.list("KubeVirt")
        return found[0] if found else {}
