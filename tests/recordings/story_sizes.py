"""How large the nodes of a trace were. Nobody recorded it: only that something did not fit.

Where the scheduler said `Insufficient cpu`, a node is taken to hold as much of it as it was ever
seen to hold, and not more; elsewhere nodes are ample.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from gitbot.kubernetes.objects import at
from gitbot.kubernetes.quantities import units_of
from tests.recordings.story import Story

# The recorder kept the requests of compute alone; console-log sidecars ask for a little too.
_SIDECARS = {"cpu": 8 * 5, "memory": 8 * 35_000_000}
_SCARCE = re.compile(r"Insufficient ([a-z0-9./-]+[a-z0-9])")


def node_sizes(story: Story, objects: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, str]]:
    """Node -> resource -> amount, of the resources that were scarce."""
    scarce = sorted(set(_SCARCE.findall(_words(story))))
    return {
        item["name"]: {name: _most(story, objects, item["name"], name) for name in scarce}
        for item in story.record["initial_nodes"]
        if scarce
    }


def _words(story: Story) -> str:
    texts = []
    for event in story.events:
        if event.get("event") == "FailedScheduling":
            texts.append(str(event.get("message", "")))
        condition = at(event, "changed", "conditions", "PodScheduled", "message")
        other = at(event, "changed", "conditions/PodScheduled")
        texts += [str(condition or ""), str(at(other, "message", default=""))]
    return "\n".join(texts)


def _most(story: Story, objects: Iterable[Mapping[str, Any]], node: str, resource: str) -> str:
    """The most of a resource that pods on a node were seen to ask for at once."""
    asked = {
        obj["metadata"]["name"]: _asked(obj["spec"]["containers"], resource)
        for obj in objects
        if obj["kind"] == "Pod" and at(obj, "spec", "nodeName") == node
    }
    size, most = {}, sum(asked.values())
    for event in story.events:
        name = event.get("name")
        if event.get("kind") != "Pod" or "event" in event:
            continue
        if "added" in event:
            requests = event["added"].get("requests") or {}
            size[name] = sum(
                units_of(resource, item.get(resource, 0)) for item in requests.values()
            )
        changes = event.get("added") or event.get("changed") or {}
        if changes.get("nodeName") == node:
            asked[name] = size.get(name, 0)
        if event.get("deleted") or changes.get("phase") in ("Succeeded", "Failed"):
            asked.pop(name, None)
        most = max(most, sum(asked.values()))
    most += _SIDECARS.get(resource, 0)
    return f"{most}m" if resource == "cpu" else str(most)


def _asked(containers: Iterable[Mapping[str, Any]], resource: str) -> int:
    return sum(
        units_of(resource, at(item, "resources", "requests", resource, default=0))
        for item in containers
    )
