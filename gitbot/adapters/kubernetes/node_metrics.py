"""Load of nodes from metrics.k8s.io, which metrics-server and other programs serve."""

from __future__ import annotations

from gitbot.adapters.kubernetes.transport import Transport
from gitbot.errors import ClusterError, SnapshotError
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.cluster.load import METRICS_SERVER, ClusterLoad
from gitbot.snapshot import node_metrics, plain_json

PATH = "/apis/metrics.k8s.io/v1beta1/nodes"


class MetricsApi:
    """Implements ports.load.LoadSource: used CPU and memory, as a share of the allocatable amount.

    `kubectl top nodes` shows the same share. The API has no deviation and no PSI.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def read(self, snapshot: ClusterSnapshot) -> ClusterLoad:
        try:
            answer = self._transport.read(PATH)
            if answer.status != 200:
                return _nothing(f"answer {answer.status} of {PATH}")
            values = node_metrics(plain_json(answer.body)["items"], snapshot.of("Node"))
            return ClusterLoad(values=tuple(sorted(values)))
        except (ClusterError, SnapshotError) as error:
            return _nothing(error.message)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            return _nothing(f"an answer other than a NodeMetricsList: {error!r}")


def _nothing(why: str) -> ClusterLoad:
    return ClusterLoad(missing=(f"{METRICS_SERVER} gave no load: {why}",))
