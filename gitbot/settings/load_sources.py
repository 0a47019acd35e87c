"""Where measured load comes from, and what ranks targets by it."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from gitbot.documents import Path, Report, value_at
from gitbot.documents.fields import Duration, Text, Value

LoadScorer = Literal["LoadVariationRiskBalancing", "LowRiskOverCommitment", "TargetLoadPacking"]
Metric = Literal[
    "combined", "cpu", "cpuPressure", "ioPressure", "memory", "memoryPressure", "system"
]
_NEEDED = {"File": "path", "Prometheus": "url"}


class LoadSettings(Value):
    """Where the measured load of nodes comes from. Without it no plan looks at load."""

    source: Literal["File", "Metrics", "Prometheus"] = Field(
        description="Metrics: metrics.k8s.io of the cluster; Prometheus: instant queries; File: "
        "JSON on the machine on which gitbot runs."
    )
    path: Text | None = Field(default=None, description="File: a ClusterLoad, or load-watcher's.")
    url: Text | None = Field(default=None, description="Prometheus: the address of its server.")
    queries: dict[Metric, Annotated[str, Field(max_length=4_096)]] = Field(
        default_factory=dict,
        description="Prometheus: by metric a query with one sample from 0 to 1 for each label "
        "`node`, instead of the preset; empty leaves the metric out.",
    )
    max_age: Duration = Field(default=300, description="An older value counts as missing.")
    pressure: Annotated[int, Field(ge=1, le=100)] = Field(
        default=10, description="Percent of time under PSI above which a target gets a warning."
    )


def source_complete(report: Report, place: Path) -> None:
    """The source of load of the cluster at `place` has the one field that it needs."""
    path: Path = (*place, "load")
    load = value_at(report.document.value, path)
    source = load.get("source") if isinstance(load, Mapping) else None
    field = _NEEDED.get(str(source))
    if field and not load.get(field):
        message = f"found source {source} without {field}, expected both"
        report.at_key(path, "load", message, f"write {field}: beside source: {source}")
