"""Deployments and ReplicaSets: they replace deleted and finished pods."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from gitbot.kubernetes.objects import KubernetesObject, at, condition_of, controller_of, labels_of
from gitbot.kubernetes.phases import is_final
from gitbot.kubevirt.launcher_pod import owner_reference
from gitbot.model.text.canonical import digest
from gitbot.model.text.instants import format_instant
from gitbot.simulation.simulated_api import Api
from gitbot.simulation.store import Change, Key, Store, key_of, with_metadata


def owner_key(change: Change, kind: str) -> list[Key]:
    owner = controller_of(change.new)
    if owner is None or owner["kind"] != kind:
        return []
    return [(change.key[0], owner["name"])]


def newest_first(objects: Iterable[KubernetesObject]) -> list[KubernetesObject]:
    """Objects by creation time, newest first; ties by name."""
    by_name = sorted(objects, key=key_of)
    return sorted(by_name, key=lambda obj: str(obj["metadata"]["creationTimestamp"]), reverse=True)


class Deployments:
    """Keeps one ReplicaSet for the current template of each Deployment (strategy Recreate)."""

    kinds = frozenset({"Deployment", "ReplicaSet"})

    def __init__(self, *, store: Store, api: Api, now: Callable[[], int]) -> None:
        self._store = store
        self._api = api
        self._now = now

    def touched(self, change: Change) -> Iterable[Key]:
        """The Deployment itself, or the one that owns a changed ReplicaSet."""
        if change.kind == "Deployment":
            return [change.key]
        return owner_key(change, "Deployment")

    def reconcile(self, key: Key) -> int | None:
        """Create or scale the ReplicaSet, drop old ones, write the status."""
        deployment = self._store.find("Deployment", key)
        if deployment is None or "deletionTimestamp" in deployment["metadata"]:
            return None
        template = deployment["spec"]["template"]
        text = digest(template).removeprefix("sha256:")[:10]
        name = f"{key[1]}-{text}"
        uid = deployment["metadata"]["uid"]
        for old in self._store.indexed("ReplicaSet", "owner", uid):
            if old["metadata"]["name"] != name:
                self._api.delete("ReplicaSet", key_of(old))
        current = self._store.find("ReplicaSet", (key[0], name))
        replicas = deployment["spec"].get("replicas", 1)
        if current is None:
            current = self._create(deployment, name, text, replicas)
        elif current["spec"]["replicas"] != replicas:
            spec = {**current["spec"], "replicas": replicas}
            current = self._store.replace({**current, "spec": spec})
        self._write_status(deployment, current)
        return None

    def _create(
        self, deployment: KubernetesObject, name: str, text: str, replicas: int
    ) -> KubernetesObject:
        template = deployment["spec"]["template"]
        labels = {**(at(template, "metadata", "labels", default={})), "pod-template-hash": text}
        metadata = {**at(template, "metadata", default={}), "labels": labels}
        return self._api.create(
            {
                "apiVersion": "apps/v1",
                "kind": "ReplicaSet",
                "metadata": {
                    "name": name,
                    "namespace": deployment["metadata"]["namespace"],
                    "labels": labels,
                    "ownerReferences": [owner_reference(deployment)],
                },
                "spec": {
                    "replicas": replicas,
                    "selector": {"matchLabels": labels},
                    "template": {**template, "metadata": metadata},
                },
            }
        ).object

    def _write_status(self, deployment: KubernetesObject, current: KubernetesObject) -> None:
        ready = at(current, "status", "readyReplicas", default=0)
        wanted = deployment["spec"].get("replicas", 1)
        status = {
            "observedGeneration": deployment["metadata"]["generation"],
            "replicas": at(current, "status", "replicas", default=0),
            "updatedReplicas": at(current, "status", "replicas", default=0),
            "readyReplicas": ready,
            "availableReplicas": ready,
            "unavailableReplicas": max(wanted - ready, 0),
            "conditions": [_available(deployment, ready >= wanted, self._now())],
        }
        self._store.replace({**deployment, "status": status})


def _available(deployment: KubernetesObject, available: bool, now: int) -> dict[str, Any]:
    text = "True" if available else "False"
    old = condition_of(deployment, "Available")
    since = old["lastTransitionTime"] if old and old["status"] == text else format_instant(now)
    return {"type": "Available", "status": text, "lastTransitionTime": since}


class ReplicaSets:
    """Keeps the number of living pods of each ReplicaSet."""

    kinds = frozenset({"Pod", "ReplicaSet"})

    def __init__(self, *, store: Store, api: Api) -> None:
        self._store = store
        self._api = api

    def touched(self, change: Change) -> Iterable[Key]:
        """The ReplicaSet itself, or the one that owns a changed pod."""
        if change.kind == "ReplicaSet":
            return [change.key]
        return owner_key(change, "ReplicaSet")

    def reconcile(self, key: Key) -> int | None:
        """Create missing pods, delete surplus ones, write the status."""
        owner = self._store.find("ReplicaSet", key)
        if owner is None or "deletionTimestamp" in owner["metadata"]:
            return None
        pods = [
            pod
            for pod in self._store.indexed("Pod", "owner", owner["metadata"]["uid"])
            if "deletionTimestamp" not in pod["metadata"] and not is_final(pod)
        ]
        replicas = owner["spec"].get("replicas", 1)
        for _ in range(replicas - len(pods)):
            self._api.create(_pod_of(owner))
        for pod in newest_first(pods)[: max(len(pods) - replicas, 0)]:
            self._api.delete("Pod", key_of(pod))
        ready = sum(1 for pod in pods if (condition_of(pod, "Ready") or {}).get("status") == "True")
        status = {
            "replicas": len(pods),
            "fullyLabeledReplicas": len(pods),
            "readyReplicas": ready,
            "availableReplicas": ready,
            "observedGeneration": owner["metadata"]["generation"],
        }
        current = self._store.get("ReplicaSet", key)
        self._store.replace({**current, "status": status})
        return None


def _pod_of(owner: KubernetesObject) -> dict[str, Any]:
    template = owner["spec"]["template"]
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**at(template, "metadata", default={})},
        "spec": template["spec"],
    }
    return with_metadata(
        pod,
        name=None,
        generateName=f"{owner['metadata']['name']}-",
        namespace=owner["metadata"]["namespace"],
        labels=dict(labels_of(pod)),
        ownerReferences=[owner_reference(owner)],
    )
