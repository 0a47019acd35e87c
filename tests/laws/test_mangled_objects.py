"""Objects of a file that no API server has checked: an answer or an error in words, never a bug."""

import copy
import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from gitbot.constraints.explanation import Explainer
from gitbot.errors import Bug, GitbotError
from gitbot.published import encoded, explanation_document
from gitbot.snapshot import read_snapshot
from tests.scheduling.vectors import recorded

Object = dict[str, Any]
POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": []}}
ODD: list[Any] = ["x", "", 5, -1, 1.5, True, None, [], {}, [None], ["x"], [{}], {"x": 1}, 10**30]


@cache
def clusters() -> list[list[Object]]:
    return [
        [*scenario["objects"], *scenario["judge"]]
        for scenario, _ in recorded()
        if len(scenario["objects"]) < 25
    ][:60]


def explained(objects: list[Object]) -> None:
    items = {"apiVersion": "v1", "kind": "List", "items": objects}
    explainer = Explainer(read_snapshot([("objects.json", json.dumps(items).encode())], 0))
    for name in explainer.pending():
        json.dumps(encoded(explanation_document([explainer.pod(name)], "")))


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every holder with a key or number in it."""
    keys = list(value) if isinstance(value, dict) else range(len(value))
    for key in keys:
        yield value, key
        if isinstance(value[key], dict | list):
            yield from places(value[key])


@given(data=st.data())
def test_a_field_of_another_type_is_refused_or_answered(data: st.DataObject) -> None:
    objects = copy.deepcopy(data.draw(st.sampled_from(clusters())))
    for _ in range(data.draw(st.integers(1, 3))):
        holder, key = data.draw(st.sampled_from(list(places(objects))))
        holder[key] = copy.deepcopy(data.draw(st.sampled_from(ODD)))  # never a part of itself
    try:
        explained(objects)
    except Bug:
        raise
    except GitbotError as error:
        event(type(error).__name__)


@pytest.mark.parametrize(
    ("kind", "fields", "words"),
    [
        ("Node", {"metadata": {"labels": {"gen": 5}}},
         "metadata.labels[...]: found a number, expected a text"),
        ("Node", {"spec": {"taints": [{"key": "a", "effect": []}]}},
         "spec.taints[0].effect: found a list, expected a text"),
        ("Pod", {"spec": {"nodeSelector": {"a": True}}},
         "spec.nodeSelector[...]: found true or false"),
        ("Pod", {"spec": {"affinity": {"podAffinity": []}}},
         "spec.affinity.podAffinity: found a list"),
        ("Pod", {"spec": {"containers": [{"ports": [{"hostPort": "80"}]}]}}, "hostPort"),
        ("Service", {"spec": {"selector": ["app"]}}, "spec.selector: found a list"),
        ("CSINode", {"spec": {"drivers": [{"allocatable": {"count": 10**30}}]}}, "count"),
    ],
)  # fmt: skip
def test_the_field_that_is_wrong_is_named(kind: str, fields: Object, words: str) -> None:
    versions = {"CSINode": "storage.k8s.io/v1"}
    metadata = {"name": "it", **fields.get("metadata", {})}
    obj = {"apiVersion": versions.get(kind, "v1"), "kind": kind, **fields, "metadata": metadata}
    with pytest.raises(GitbotError) as caught:
        explained([{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}, POD, obj])
    assert f"{kind} it: " in caught.value.message
    assert words in caught.value.message
