"""Events as objects in the store, counted when they repeat."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gitbot.kubernetes.objects import KubernetesObject, at
from gitbot.model.text.canonical import short_digest
from gitbot.model.text.instants import format_instant
from gitbot.simulation.store import Store


class Recorder:
    """Writes Events about objects. `source` is the reporting component."""

    def __init__(self, *, store: Store, now: Callable[[], int], source: str) -> None:
        self._store = store
        self._now = now
        self._source = source

    def record(
        self, obj: KubernetesObject, *, reason: str, message: str, warning: bool = False
    ) -> None:
        """Record an Event; an equal one only increases its count."""
        metadata = obj["metadata"]
        namespace = metadata.get("namespace") or "default"
        identity = f"{obj['kind']}/{metadata.get('uid')}/{reason}/{message}/{self._source}"
        name = f"{metadata['name'][:200]}.{short_digest(identity, 16)}"
        text = format_instant(self._now())
        known = self._store.find("Event", (namespace, name))
        if known is not None:
            count = at(known, "count", default=1) + 1
            self._store.replace({**known, "count": count, "lastTimestamp": text})
            return
        self._store.create(
            {
                "apiVersion": "v1",
                "kind": "Event",
                "metadata": {"namespace": namespace, "name": name},
                "involvedObject": _reference(obj),
                "reason": reason,
                "message": message,
                "type": "Warning" if warning else "Normal",
                "count": 1,
                "firstTimestamp": text,
                "lastTimestamp": text,
                "source": {"component": self._source},
                "reportingComponent": self._source,
                "reportingInstance": "",
                "eventTime": None,
            }
        )


def _reference(obj: KubernetesObject) -> dict[str, Any]:
    metadata = obj["metadata"]
    fields = {
        "apiVersion": obj["apiVersion"],
        "kind": obj["kind"],
        "name": metadata["name"],
        "namespace": metadata.get("namespace", ""),
        "uid": metadata.get("uid", ""),
        "resourceVersion": metadata.get("resourceVersion", ""),
    }
    return {name: value for name, value in fields.items() if value}
