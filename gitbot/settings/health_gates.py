"""What gitbot asks before it empties the next node of a window."""

from typing import Annotated

from pydantic import Field

from gitbot.documents import Path, Report, value_at
from gitbot.documents.fields import DnsLabel, Text, Value


class HealthGateSettings(Value):
    """A question between two nodes: a query with no result, or an address that answers 2xx."""

    name: DnsLabel = Field(description="Its name, as `gitbot status` and `gitbot apply` show it.")
    prometheus: Text | None = Field(
        default=None, description="The address of a Prometheus server, for `query`."
    )
    query: Annotated[str, Field(min_length=1, max_length=4_096)] | None = Field(
        default=None,
        description='An instant query, such as `ALERTS{alertstate="firing"}`. The gate is closed '
        "while it has a result.",
    )
    probe: Text | None = Field(
        default=None, description="An http address. The gate is closed unless it answers 2xx."
    )


def gates_complete(report: Report, place: Path) -> None:
    """Each gate of the cluster at `place` has a query with its server, or a probe."""
    path: Path = (*place, "healthGates")
    gates = value_at(report.document.value, path)
    for index, gate in enumerate(gates if isinstance(gates, list) else ()):
        if not isinstance(gate, dict):
            continue
        given = {key for key in ("prometheus", "query", "probe") if gate.get(key)}
        if given not in ({"prometheus", "query"}, {"probe"}):
            found = " and ".join(sorted(given)) or "nothing to ask"
            report.at_value(
                (*path, index),
                "health-gate",
                f"found {found}, expected prometheus and query, or probe",
                "write prometheus: ADDRESS and query: PROMQL, or probe: ADDRESS",
            )
