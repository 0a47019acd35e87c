"""An API server without webhooks."""

from gitbot.kubernetes.objects import KubernetesObject


class NoAdmission:
    """The webhooks of a cluster that has none."""

    def before_schema(self, obj: KubernetesObject) -> None:
        """Refuse nothing."""

    def admit(
        self,
        obj: KubernetesObject,
        old: KubernetesObject | None,  # noqa: ARG002 (as the port names it)
        *,
        user: str,  # noqa: ARG002
    ) -> KubernetesObject:
        """Leave the object as it is."""
        return obj

    def evict(self, pod: KubernetesObject, eviction: KubernetesObject, *, dry_run: bool) -> None:
        """Allow everything."""
