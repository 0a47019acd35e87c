"""Plain Kubernetes objects of files: lists unpacked, namespaces added, other objects reported.

Nothing is skipped silently: objects that a snapshot does not keep are counted by kind, and objects
that no cluster would have stored are warnings with file and line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from gitbot.documents import scalar_places
from gitbot.errors import SnapshotError
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import KubernetesObject, at, name_of
from gitbot.kubernetes.phases import is_final
from gitbot.kubevirt.admission import RUN_STRATEGIES
from gitbot.kubevirt.names import APP
from gitbot.model.cluster.cluster import KINDS
from gitbot.model.grouping import grouped
from gitbot.model.text.wording import counted, first_of, nearest, one_of
from gitbot.snapshot.from_objects import belongs, kind_of
from gitbot.snapshot.resources import DUMP, RESOURCES

_LISTS = {f"{kind}List": kind for kind in KINDS}
_WORDS = {
    str: "a text",
    list: "a list",
    dict: "a mapping",
    type(None): "nothing",
    bool: "a boolean",
}
_EVENT = {"type", "object"}
_CHANGES = ("ADDED", "MODIFIED", "DELETED")
_NEEDED = ("Node", "Pod")
_HINT = f"`{DUMP}` prints what is needed"


def plain_objects(file: str, value: Any) -> Iterator[KubernetesObject]:
    """The objects of one document, nested lists unpacked. Raises SnapshotError for other data.

    A namespaced object without a namespace is in `default`, where kubectl would put it.
    """
    if not isinstance(value, Mapping) or not isinstance(value.get("kind"), str):
        found = "no kind" if isinstance(value, Mapping) else word_of(value)
        raise SnapshotError(
            f"{file}: not a Kubernetes object: found {found}, "
            "expected apiVersion, kind and metadata",
            hint=_HINT,
        )
    kind = value["kind"]
    if kind != "List" and kind not in _LISTS:
        yield _placed(value)
        return
    items = value.get("items") or []
    if not isinstance(items, list):
        raise SnapshotError(f"{file}: {kind}.items: expected a list")
    for item in items:
        typed = (
            {"apiVersion": value.get("apiVersion"), "kind": _LISTS[kind]} if kind != "List" else {}
        )
        yield from plain_objects(file, {**typed, **item} if isinstance(item, Mapping) else item)


def listed_kinds(value: Any) -> Iterator[str]:
    """The kinds of the typed lists in a document: a `PodList` without items says that none is."""
    if not isinstance(value, Mapping):
        return
    if value.get("kind") in _LISTS:
        yield _LISTS[value["kind"]]
    items = value.get("items")
    for item in items if isinstance(items, list) and value.get("kind") == "List" else ():
        yield from listed_kinds(item)


def watched(file: str, values: Sequence[Any]) -> Sequence[Any]:
    """The objects as the events of a watch leave them; other values as they are.

    `kubectl get --watch --output-watch-events` prints `{type, object}`.
    """
    if not all(isinstance(each, Mapping) and each.keys() == _EVENT for each in values):
        return values
    left: dict[tuple[str, str, NamespacedName], KubernetesObject] = {}
    for event in values:
        if event["type"] not in _CHANGES:
            continue
        for obj in plain_objects(file, event["object"]):
            key = (str(obj.get("apiVersion")), str(obj.get("kind")), name_of(obj))
            left.pop(key, None)
            if event["type"] != "DELETED":
                left[key] = obj
    return [*left.values()]


def word_of(value: Any) -> str:
    """The type of a value, in a word for people."""
    return "an empty text" if value == "" else _WORDS.get(type(value), "a number")


def _placed(obj: KubernetesObject) -> KubernetesObject:
    kind = kind_of(obj)
    metadata = obj.get("metadata")
    if not kind or not RESOURCES[kind].namespaced or not isinstance(metadata, Mapping):
        return obj
    if metadata.get("namespace"):
        return obj
    return {**obj, "metadata": {**metadata, "namespace": "default"}}


def passed_over(objects: Iterable[KubernetesObject]) -> Mapping[str, int]:
    """How many objects a snapshot does not keep, by kind in order of name."""
    counts = Counter(label for obj in objects if (label := _passed_over(obj)))
    return {label: counts[label] for label in sorted(counts)}


def _passed_over(obj: KubernetesObject) -> str:
    kind, found = kind_of(obj), str(obj.get("kind"))
    if not kind:  # a known kind in another API group is another kind
        group = obj.get("apiVersion") or "no apiVersion"
        return f"{found} ({group})" if found in RESOURCES else found
    metadata = obj.get("metadata")
    if not isinstance(metadata, Mapping) or not metadata.get("name"):
        return ""  # refused later, with a better message
    if belongs(kind, obj, name_of(obj)):
        return ""
    return f"{kind} that has ended" if kind == "Pod" else kind


def check_enough(files: Sequence[str], objects: Sequence[KubernetesObject]) -> None:
    """Raises SnapshotError if there is neither a node nor a pod: nothing could be computed."""
    counts = Counter(str(obj.get("kind")) for obj in objects)
    if any(kind_of(obj) in _NEEDED for obj in objects):
        return
    found = ", ".join(f"{counts[kind]} {kind}" for kind in sorted(counts)) or "no object"
    raise SnapshotError(
        f"{', '.join(files)}: found {found}, expected a ClusterSnapshot, or Kubernetes objects "
        "with Node and Pod among them",
        hint=_HINT,
    )


def check_vms(files: Sequence[str], objects: Sequence[KubernetesObject]) -> None:
    """Raises SnapshotError if VMs run of which only the pods are there, or all but the pods.

    Nodes would look empty, or without VMs.
    """
    kinds = grouped((kind_of(obj), obj) for obj in objects)
    vmis, pods = kinds.get("VirtualMachineInstance", ()), kinds.get("Pod", ())
    running = [obj for obj in vmis if at(obj, "status", "nodeName")]
    launchers = [
        pod
        for pod in pods
        if at(pod, "metadata", "labels", APP) == "virt-launcher"
        and not is_final(pod)
        and not at(pod, "metadata", "deletionTimestamp")  # it may outlive its VMI
    ]
    lacks = ""
    if running and not pods:
        found, lacks = counted(len(running), "VirtualMachineInstance"), "Pod"
    elif launchers and not vmis:
        found, lacks = counted(len(launchers), "launcher pod"), "VirtualMachineInstance"
    if lacks:
        raise SnapshotError(
            f"{first_of(files, 4)}: found {found} and no {lacks}: where VMs have room is not known",
            hint=f"`kubectl get {RESOURCES[lacks].plural} -A -o yaml` adds them",
        )


def run_strategy_warnings(
    file: str, text: bytes, objects: Iterable[KubernetesObject]
) -> tuple[str, ...]:
    """VirtualMachines of a file with a run strategy that KubeVirt does not know, with their place.

    `text` is the unpacked file. It is parsed only if there is a warning.
    """
    wrong = [obj for obj in objects if _strategy(obj) not in (None, *RUN_STRATEGIES)]
    if not wrong:
        return ()
    places: dict[str, Iterator[tuple[int, int]]] = {}
    warnings = []
    for obj in wrong:
        found = str(_strategy(obj))
        if found not in places:
            places[found] = iter(scalar_places(text, ("spec", "runStrategy"), found))
        place = next(places[found], None)
        near = nearest(found, RUN_STRATEGIES)
        warnings.append(
            f"{file}{f':{place[0]}:{place[1]}' if place else ''}: VirtualMachine {name_of(obj)}: "
            f"spec.runStrategy: found {found!r}, expected {one_of(RUN_STRATEGIES)}"
            f"{f'; did you mean {near}?' if near else ''}"
        )
    return tuple(warnings)


def _strategy(obj: KubernetesObject) -> Any:
    return at(obj, "spec", "runStrategy") if kind_of(obj) == "VirtualMachine" else None
