"""Opens clusters, each with the configured source of measured load."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from gitbot.ports.cluster import Cluster, FollowedCluster
from gitbot.ports.load import LoadSource
from gitbot.settings import LoadSettings

if TYPE_CHECKING:
    from gitbot.adapters.kubernetes import Transport


def open_cluster(
    *, name: str, kubeconfig: str = "", context: str = "", load: LoadSettings | None = None
) -> Cluster:
    """A cluster of a kubeconfig ("" for kubectl's defaults), with load if it is configured."""
    from gitbot.adapters.kubernetes import KubernetesCluster, Transport  # noqa: PLC0415 - heavy

    transport = Transport(kubeconfig=kubeconfig, context=context)
    source = None if load is None else load_source(load, transport)
    return KubernetesCluster(name=name, transport=transport, load=source)


def open_followed(
    *,
    name: str,
    kubeconfig: str,
    context: str,
    load: LoadSettings | None,
    say: Callable[[str], None],
    at_once: bool,
) -> FollowedCluster:
    """The same, listed once and then watched; `say` is told what watching needs."""
    from gitbot.adapters.kubernetes import (  # noqa: PLC0415 - heavy
        FollowedKubernetesCluster,
        Transport,
    )

    transport = Transport(kubeconfig=kubeconfig, context=context)
    return FollowedKubernetesCluster(
        name=name,
        transport=transport,
        streaming=Transport(kubeconfig=kubeconfig, context=context),
        load=None if load is None else load_source(load, transport),
        say=say,
        at_once=at_once,
    )


def load_source(load: LoadSettings, transport: Transport) -> LoadSource:
    match load.source:
        case "Prometheus":
            from gitbot.adapters.prometheus import Prometheus  # noqa: PLC0415 - where configured

            queries = {str(metric): query for metric, query in load.queries.items()}
            return Prometheus(load.url or "", queries)
        case "File":
            from gitbot.adapters.load_file import LoadFile  # noqa: PLC0415 - where configured

            return LoadFile(load.path or "")
        case "Metrics":
            from gitbot.adapters.kubernetes import MetricsApi  # noqa: PLC0415 - where configured

            return MetricsApi(transport)
