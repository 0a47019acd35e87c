"""Load of nodes from instant queries of a Prometheus server, with presets for kubelet's metrics."""

from __future__ import annotations

import os
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from http.client import HTTPException
from typing import Any, cast
from urllib.parse import urlencode, urlsplit

from gitbot.adapters.bounded_http_body import Body, whole
from gitbot.adapters.one_address import no_answer, opener
from gitbot.errors import SnapshotError
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import name_of
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.cluster.load import (
    ClusterLoad,
    DirtyRate,
    LoadValue,
    bytes_in_a_second,
    hundredths,
    seconds,
)
from gitbot.snapshot import plain_json

SOURCE = "Prometheus"
TOKEN = "GITBOT_PROMETHEUS_TOKEN"  # noqa: S105 - the name of a variable
SECONDS = 15
LARGEST = 64 * 1024 * 1024  # bytes of a response
_WAITING = 'sum by (node) (rate(container_pressure_{}_waiting_seconds_total{{id="/"}}[5m]))'
_CPU = 'sum by (node) (rate(container_cpu_usage_seconds_total{{id="{}"}}[5m]))'
PRESETS: Mapping[str, str] = {
    "cpu": f"{_CPU.format('/')} / sum by (node) (machine_cpu_cores)",
    "memory": 'sum by (node) (container_memory_working_set_bytes{id="/"})'
    " / sum by (node) (machine_memory_bytes)",
    "system": f"{_CPU.format('/system.slice')} / sum by (node) (machine_cpu_cores)",
    "cpuPressure": _WAITING.format("cpu"),
    "memoryPressure": _WAITING.format("memory"),
    "ioPressure": _WAITING.format("io"),
}
"""A query by metric, with one sample of 0..1 for each node, which label `node` identifies.

The kubelet serves these at /metrics/cadvisor; PSI needs Kubernetes 1.34 and kernels with psi=1.
"""
DIRTY_RATE = (
    "max by (namespace, name) (avg_over_time(kubevirt_vmi_dirty_rate_bytes_per_second[10m]))"
)
"""Source: KubeVirt, pkg/monitoring/metrics/virt-handler/domainstats/dirty_rate_metrics.go."""
_SPREAD = ("cpu", "memory")  # metrics whose deviation is queried, too


class Prometheus:
    """Implements ports.load.LoadSource.

    `queries` replaces or adds to the presets; an empty text leaves a metric out. A bearer token
    comes from the environment.
    """

    def __init__(self, url: str, queries: Mapping[str, str] | None = None) -> None:
        self._url = url.rstrip("/")
        self.queries = {**PRESETS, **(queries or {})}

    def read(self, snapshot: ClusterSnapshot) -> ClusterLoad:
        nodes = {name_of(node).name for node in snapshot.of("Node")}
        found: list[LoadValue] = []
        missing: list[str] = []
        dirty: tuple[DirtyRate, ...] = ()
        for metric, query in sorted(self.queries.items()):
            if not query:
                continue
            samples, why = self._ask(query)
            known = {node: sample for node, sample in samples.items() if node in nodes}
            if not known:
                why = why or "no sample has a label node that names a node of the cluster"
                missing.append(f"{SOURCE} gave no {metric}: {why}")
                if why.startswith(_SILENT):
                    break  # the other queries would fail alike
                continue
            spread: Mapping[str, tuple[int, int]] = {}
            if metric in _SPREAD:
                spread, _ = self._ask(f"stddev_over_time(({query})[15m:1m])")
            found += [
                LoadValue(
                    node=node,
                    metric=metric,
                    amount=amount,
                    deviation=spread.get(node, (0, 0))[1],
                    time=time,
                    source=SOURCE,
                    query=query,
                )
                for node, (time, amount) in known.items()
            ]
        else:
            dirty = tuple(sorted(self._dirty_rates()))
        return ClusterLoad(values=tuple(sorted(found)), missing=tuple(missing), dirty=dirty)

    def _dirty_rates(self) -> Iterator[DirtyRate]:
        """Of the VMs that virt-handler measures; a KubeVirt without the metric has none."""
        vector, _ = instant_vector(self._url, DIRTY_RATE)
        for item in vector:
            try:
                labels, (when, text) = item["metric"], item["value"]
                vm = NamespacedName(namespace=labels["namespace"], name=labels["name"])
                yield DirtyRate(vm=vm, rate=bytes_in_a_second(text), time=seconds(str(when)))
            except (KeyError, TypeError, AttributeError, ValueError):
                continue  # NaN, or the sample of another exporter

    def _ask(self, query: str) -> tuple[Mapping[str, tuple[int, int]], str]:
        """Time and hundredths of a percent by node; or why there is none."""
        vector, why = instant_vector(self._url, query)
        try:
            return dict(_samples(vector)), why
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            return {}, f"{_OTHER}: {error!r}"


_SILENT = "it does not answer"
_OTHER = "an answer other than an instant vector"


def instant_vector(url: str, query: str) -> tuple[list[Any], str]:
    """The result of an instant query as Prometheus sends it; or why there is none."""
    headers = {"Accept": "application/json", "User-Agent": "gitbot"}
    if os.environ.get(TOKEN):
        headers["Authorization"] = f"Bearer {os.environ[TOKEN]}"
    address = f"{url.rstrip('/')}/api/v1/query?{urlencode({'query': query})}"
    try:
        if urlsplit(address).scheme not in ("http", "https"):
            return [], f"{_SILENT}: {url} is not an http address"
        request = urllib.request.Request(address, headers=headers)  # noqa: S310 - checked above
        with opener().open(request, timeout=SECONDS) as answer:
            data = whole(answer, most=LARGEST, seconds=SECONDS)
    except urllib.error.HTTPError as error:
        return [], f"answer {error.code}: {_said(error)}"
    except (OSError, ValueError, HTTPException) as error:
        return [], f"{_SILENT}: {no_answer(error)}"
    try:
        found = plain_json(data)["data"]["result"]
    except (SnapshotError, KeyError, TypeError, AttributeError, ValueError) as error:
        return [], f"{_OTHER}: {error!r}"
    return (found, "") if isinstance(found, list) else ([], _OTHER)


def _samples(result: Any) -> Iterator[tuple[str, tuple[int, int]]]:
    """Samples that are numbers. NaN and Inf, as from a division by zero, count as missing."""
    for item in result:
        node, (when, text) = item["metric"].get("node"), item["value"]
        if node and text not in ("NaN", "+Inf", "-Inf"):
            share = "0" if str(text).startswith("-") else str(text)
            yield str(node), (seconds(str(when)), hundredths(share, of=100))


def _said(error: urllib.error.HTTPError) -> str:
    try:
        found = plain_json(whole(cast("Body", error), most=LARGEST, seconds=SECONDS))
        return " ".join(str(found.get("error") or error.reason).split())[:200]
    except (SnapshotError, AttributeError, OSError, HTTPException):
        return str(error.reason)
