"""What `gitbot explain` says of a scenario against what the oracle says: every difference in words.

Compared exactly: feasible nodes, for each node the plugin that kube-scheduler reports with its
code and reasons, all plugins that reject it, normalised scores and totals, the predicted nodes.
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from gitbot.constraints.explanation import Explainer, Explanation
from gitbot.kubernetes.names import NamespacedName
from gitbot.published import encoded, explanation_document
from gitbot.snapshot import read_snapshot

Object = dict[str, Any]
NO_VM: Object = {
    "apiVersion": "kubevirt.io/v1",
    "kind": "VirtualMachineInstance",
    "metadata": {"name": "not-started", "namespace": "default", "uid": "not-started"},
    "spec": {"domain": {}},
    "status": {"phase": "Pending"},
}
"""Beside launcher pods whose VMIs nobody needs: files without any VMI are refused."""


def explainer_of(objects: list[Object], judged: list[Object]) -> Explainer:
    """As `gitbot explain --snapshot` reads a List of these objects; judged pods wait in it."""
    items = {"apiVersion": "v1", "kind": "List", "items": [*objects, *judged, NO_VM]}
    read = read_snapshot([("objects.json", json.dumps(items).encode())], 0)
    return Explainer(replace(read, missing_kinds=()))  # the objects are all that the cluster has


def stored_cluster(scenario: Object, result: Object) -> list[Object]:
    """The objects of a scenario with pods as kube-apiserver stores them."""
    if not scenario.get("admit"):
        return list(scenario["objects"])
    others = [item for item in scenario["objects"] if item["kind"] != "Pod"]
    return [*others, *result.get("placed", ())]


def differences(scenario: Object, result: Object) -> Iterator[str]:
    """Every difference, "" free; pods that kube-apiserver refuses are not judged."""
    judged = result.get("judged", []) if scenario.get("admit") else scenario["judge"]
    explainer = explainer_of(stored_cluster(scenario, result), judged)
    for pod, verdict in zip(judged, result["results"], strict=True):
        for line in _compare(explainer.pod(_name(pod)), verdict):
            yield f"{scenario['name']} {_name(pod)}: {line}"


def differences_as_sent(scenario: Object, result: Object) -> Iterator[str]:
    """The same for pods as they were sent, which no API server has stored: without uid.

    Pods with a generic ephemeral volume are left out: their claim names a uid.
    """
    sent = {_name(pod): pod for pod in scenario["judge"]}
    pods = [_unstored(sent[_name(pod)]) for pod in result.get("judged", ())]
    explainer = explainer_of(stored_cluster(scenario, result), pods)
    for pod, verdict in zip(pods, result["results"], strict=True):
        if any("ephemeral" in volume for volume in pod["spec"].get("volumes", ())):
            continue
        for line in _compare(explainer.pod(_name(pod)), verdict):
            yield f"{scenario['name']} {_name(pod)} as sent: {line}"


def _name(pod: Object) -> NamespacedName:
    metadata = pod["metadata"]
    return NamespacedName(namespace=metadata["namespace"], name=metadata["name"])


def _unstored(pod: Object) -> Object:
    metadata = {key: value for key, value in pod["metadata"].items() if key != "uid"}
    return {**pod, "metadata": metadata}


def _compare(explanation: Explanation, verdict: Object) -> Iterator[str]:
    if verdict.get("error"):
        return
    (found,) = encoded(explanation_document([explanation], ""))["subjects"]
    if sorted(found["feasible"]) != sorted(verdict["feasible"]):
        yield f"feasible: found {found['feasible']}, expected {verdict['feasible']}"
    yield from _rejections(explanation, verdict)
    if not verdict.get("scoreError"):
        yield from _scores(found, verdict)


def _rejections(explanation: Explanation, verdict: Object) -> Iterator[str]:
    whole = verdict.get("whole")
    if (explanation.judgement.whole is not None) != (whole is not None):
        yield f"whole: found {explanation.judgement.whole}, expected {whole}"
        return
    for node in explanation.judgement.nodes:
        expected = whole or (verdict.get("rejected") or {}).get(node.node)
        reported = node.reported
        said = None
        if reported is not None:
            code = "unschedulable" if reported.resolvable else "unresolvable"
            said = (reported.plugin, code, list(reported.reasons))
        wanted = expected and (expected["plugin"], expected["code"], expected["reasons"])
        if said != wanted:
            yield f"{node.node}: found {said}, expected {wanted}"
        elif expected and not whole:
            plugins = [item.plugin for item in node.rejections]
            every = expected.get("all") or [expected["plugin"]]
            if plugins != every:
                yield f"{node.node}: plugins: found {plugins}, expected {every}"


def _scores(found: Object, verdict: Object) -> Iterator[str]:
    normalised = verdict.get("normalised") or {}
    nodes = {item["name"]: item for item in found["nodes"]}
    totals: dict[str, int] = {}
    for place, name in enumerate(verdict["feasible"] if normalised else ()):
        expected = {plugin: scores[place] for plugin, scores in normalised.items()}
        totals[name] = verdict["total"][place]
        if name in nodes and nodes[name]["scores"] != expected:
            yield f"{name}: scores: found {nodes[name]['scores']}, expected {expected}"
        elif name in nodes and nodes[name]["total"] != totals[name]:
            yield f"{name}: total: found {nodes[name]['total']}, expected {totals[name]}"
    if totals:
        best = [name for name in sorted(totals) if totals[name] == max(totals.values())]
        predicted = found["predicted"]
        if predicted["tied"] != best or predicted["node"] not in best:
            yield f"predicted: found {predicted}, expected {best}"
