"""What is configured of a cluster: an entry of `clusters`, or the spec of a Cluster."""

from typing import Annotated

from pydantic import Field

from gitbot.documents import Path, Report, value_at
from gitbot.documents.fields import DnsLabel, Text, TimeZone, Value
from gitbot.model.plan.problem import Limits
from gitbot.settings.health_gates import HealthGateSettings, gates_complete
from gitbot.settings.load_sources import LoadSettings, source_complete
from gitbot.settings.owners import RepositoryPath

Share = Annotated[int, Field(ge=1, le=1000)]


class LimitSettings(Value):
    """How many migrations may run in parallel. The KubeVirt CR's own limits apply as well."""

    parallel: Share = Field(default=5, description="Migrations at once in the whole cluster.")
    per_source_node: Share = Field(default=2, description="Migrations at once away from a node.")
    per_target_node: Share = Field(default=2, description="Migrations at once towards a node.")
    per_zone: Share = Field(default=4, description="Migrations at once that touch a zone.")
    reserve: int = Field(
        default=1, ge=0, le=1000, description="Slots of `parallel` left free for drains by others."
    )

    @property
    def value(self) -> Limits:
        return Limits(
            parallel=self.parallel,
            per_source_node=self.per_source_node,
            per_target_node=self.per_target_node,
            per_zone=self.per_zone,
            reserve=self.reserve,
        )


class _NamedCluster(Value):
    name: DnsLabel = Field(description="Name of the cluster and of its folder below intents/.")


class ClusterSpec(Value):
    """What is configured of a cluster but its name."""

    context_name: Text | None = Field(
        default=None, alias="context", description="Kubeconfig context; default: the name."
    )
    time_zone: TimeZone | None = Field(
        default=None, description="IANA zone of schedules that name none; no default."
    )
    limits: LimitSettings = Field(
        default=LimitSettings.model_construct(), description="How many migrations may run at once."
    )
    load: LoadSettings | None = Field(
        default=None, description="Where measured load comes from; default: it is not read."
    )
    health_gates: Annotated[list[HealthGateSettings], Field(max_length=16)] = Field(
        default_factory=list,
        description="Asked before each node of a window is emptied; a closed one stops the next.",
    )
    scheduler_config: RepositoryPath | None = Field(
        default=None, description="File with the KubeSchedulerConfiguration of the cluster."
    )
    one_zone_at_a_time: bool = Field(
        default=False, description="Windows of two zones that are open together are errors."
    )


class ClusterSettings(ClusterSpec, _NamedCluster):  # the name is the first field
    """One cluster. Its intents are below `intents/<name>/`."""

    @property
    def context(self) -> str:
        return self.context_name or self.name


def check_cluster(report: Report, place: Path) -> None:
    """Report what single fields do not show of the cluster at a key path."""
    _no_slot_left(report, place)
    source_complete(report, place)
    gates_complete(report, place)


def _no_slot_left(report: Report, place: Path) -> None:
    """A reserve that is written and leaves gitbot nothing; the default gives way to `parallel`."""
    value, limits = report.document.value, (*place, "limits")
    reserve = value_at(value, (*limits, "reserve"))
    parallel = value_at(value, (*limits, "parallel"))
    parallel = LimitSettings.model_construct().parallel if parallel is None else parallel
    if isinstance(reserve, int) and isinstance(parallel, int) and 0 < parallel <= reserve:
        report.at_value(
            (*limits, "reserve"),
            "no-slot",
            f"found reserve {reserve} of parallel {parallel}, expected less: {parallel} - "
            f"{reserve} = {parallel - reserve} leaves gitbot no migration",
            f"write reserve: {parallel - 1}, or raise parallel",
        )
