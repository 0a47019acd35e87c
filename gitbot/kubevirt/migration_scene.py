"""Everything that one pass over a migration looks at."""

from __future__ import annotations

from dataclasses import dataclass

from gitbot.kubevirt.attachment_pod import attachment_pods, is_hotplugged
from gitbot.kubevirt.limits import is_final
from gitbot.kubevirt.pods import is_deleting, is_down, is_ready, target_pods, vmi_of
from gitbot.kubevirt.reconcile import MIGRATIONS_OF_VMI, View
from gitbot.model.objects import Json, KubernetesObject, at, name_of, uid_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A migration, its VMI, its target pod where there is one, and the view. `now` in seconds."""

    view: View
    migration: KubernetesObject
    vmi: KubernetesObject
    target: KubernetesObject | None
    now: int

    @classmethod
    def of(cls, view: View, migration: KubernetesObject, now: int) -> Scene | None:
        """The scene; None where the VMI does not exist."""
        vmi = vmi_of(view, migration)
        if vmi is None:
            return None
        targets = target_pods(view, migration, vmi)
        target = targets[0] if targets else None
        return cls(view=view, migration=migration, vmi=vmi, target=target, now=now)

    @property
    def uid(self) -> str:
        """The migration's UID."""
        return uid_of(self.migration)

    @property
    def state(self) -> Json | None:
        """The VMI's migrationState, that of an earlier migration until hand-off."""
        state: Json | None = at(self.vmi, "status", "migrationState")
        return state

    @property
    def own_state(self) -> Json | None:
        """The VMI's migrationState if it is about this migration."""
        return self.state if at(self.state, "migrationUid") == self.uid else None

    @property
    def canceled(self) -> bool:
        """Whether the migration was deleted."""
        return is_deleting(self.migration)

    @property
    def text(self) -> str:
        """The VMI as KubeVirt writes it in messages."""
        return str(name_of(self.vmi))

    def other_owner(self) -> bool:
        """Whether another unfinished migration owns the VMI's migrationState."""
        owner = at(self.state, "migrationUid", default="")
        if owner in ("", self.uid):
            return False
        return any(
            uid_of(item) == owner and not is_final(item)
            for item in self.view.select(MIGRATIONS_OF_VMI, self.text)
        )

    def attached(self) -> bool:
        """Whether the target pod has all that it needs: hotplugged volumes need a pod each."""
        if self.target is None:
            return False
        if not has_hotplug_volumes(self.vmi):
            return True
        return any(is_ready(pod) for pod in attachment_pods(self.view, self.target))

    def detached(self) -> bool:
        """Whether a pod that holds hotplugged volumes for the target has ended."""
        if self.target is None or not has_hotplug_volumes(self.vmi):
            return False
        return any(is_down(pod) for pod in attachment_pods(self.view, self.target))

    def kubevirt(self) -> KubernetesObject:
        """The KubeVirt object; an empty one where there is none."""
        found = self.view.list("KubeVirt")
        return found[0] if found else {}


def has_hotplug_volumes(vmi: KubernetesObject) -> bool:
    """Whether volumes were plugged in while the guest ran: they need a pod of their own."""
    if any(
        status.get("hotplugVolume") is not None
        for status in at(vmi, "status", "volumeStatus", default=[])
    ):
        return True
    return any(is_hotplugged(volume) for volume in at(vmi, "spec", "volumes", default=[]))


def backup_in_progress(vmi: KubernetesObject) -> str:
    """The name of the backup that runs, "" where none does."""
    backup: Json = at(vmi, "status", "changedBlockTracking", "backupStatus", default={})
    return "" if backup.get("completed") else str(backup.get("backupName") or "")
