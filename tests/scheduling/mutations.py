"""Recorded clusters recombined: `scenario(seed)` grafts and alters what stands in them.

Every field may take any value that the same field has somewhere in the record, or go. So objects
meet that no generator puts together. What kube-apiserver would refuse, the oracle leaves out.
"""

import copy
import json
from collections.abc import Iterator
from functools import cache
from typing import Any

from tests.scheduling.dice import Dice
from tests.scheduling.vectors import recorded

Object = dict[str, Any]
Pools = dict[str, list[Any]]
OPEN = ("labels", "matchLabels", "nodeSelector", "requests", "limits", "allocatable", "overhead")
"""Fields whose keys are free: what stands below them is one field, whatever the key."""
FIXED = ("apiVersion", "kind", "name", "namespace", "uid", "metadata", "spec")
MOST_VALUES = 300


def _places(path: str, value: Any) -> Iterator[tuple[str, Any, Any]]:
    """Path of a field, what holds it, its key there; for all fields of a value."""
    if not isinstance(value, dict | list):
        return
    keys = list(value) if isinstance(value, dict) else range(len(value))
    for key in keys:
        last = path.rpartition(".")[2]
        step = f"{path}.{'*' if last in OPEN else key}" if isinstance(value, dict) else f"{path}[]"
        yield step, value, key
        yield from _places(step, value[key])


@cache
def _record() -> tuple[list[Object], Pools]:
    clusters = [scenario for scenario, _ in recorded()]
    texts: dict[str, dict[str, Any]] = {}
    for cluster in clusters:
        for item in (*cluster["objects"], *cluster["judge"]):
            for path, holder, key in _places(item["kind"], item):
                known = texts.setdefault(path, {})
                if len(known) < MOST_VALUES:
                    known.setdefault(json.dumps(holder[key], sort_keys=True), holder[key])
    return clusters, {path: list(known.values()) for path, known in texts.items()}


def _alter(dice: Dice, pools: Pools, item: Object) -> None:
    """One field takes another value, goes, or its list grows."""
    places = [place for place in _places(item["kind"], item) if place[2] not in FIXED]
    if not places:
        return
    path, holder, key = dice.pick(places)
    if dice.chance(70):
        holder[key] = copy.deepcopy(dice.pick(pools[path]))
    elif isinstance(holder[key], list) and f"{path}[]" in pools:
        holder[key].append(copy.deepcopy(dice.pick(pools[f"{path}[]"])))
    else:
        del holder[key]


def scenario(seed: int) -> Object:
    """`name`, `objects`, `judge` and `admit`, as the oracle takes them."""
    dice = Dice(seed)
    clusters, pools = _record()
    base, other = copy.deepcopy(dice.pick(clusters)), copy.deepcopy(dice.pick(clusters))
    objects, judge = base["objects"], [*base["judge"], *other["judge"]]
    held = {_key(item) for item in objects}
    objects += [item for item in other["objects"] if _key(item) not in held and dice.chance(30)]
    for number, pod in enumerate(judge):
        pod["metadata"]["name"] = f"judged-{number}"
        donor = dice.pick(other["judge"])["spec"]
        for field in dice.some(("affinity", "tolerations", "topologySpreadConstraints"), 0, 2):
            if field in donor:
                pod["spec"][field] = copy.deepcopy(donor[field])
        for _ in range(dice.number(0, 4)):
            _alter(dice, pools, pod)
        pod["spec"].pop("nodeName", None)
        pod.pop("status", None)
    for _ in range(dice.number(0, 20)):
        _alter(dice, pools, dice.pick([item for item in objects if item["kind"] != "Namespace"]))
    kept = [item for item in objects if not _ended(item)]
    return {"name": f"m{seed}", "admit": True, "objects": kept, "judge": judge}


def _ended(item: Object) -> bool:
    """A pod that kube-scheduler is never told of, which the oracle would take for nominated."""
    status = item.get("status") or {}
    return bool(status.get("nominatedNodeName")) and status.get("phase") in ("Succeeded", "Failed")


def _key(item: Object) -> tuple[str, str, str]:
    metadata = item["metadata"]
    return item["kind"], metadata.get("namespace", ""), metadata["name"]
