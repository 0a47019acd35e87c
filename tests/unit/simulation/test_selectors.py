from typing import Any

import pytest

from gitbot.kubernetes.selectors import LabelMatcher
from gitbot.simulation.selectors import field_match, label_match
from gitbot.simulation.status_errors import ApiError

LABELS = {"app": "web", "tier": "front", "topology.kubernetes.io/zone": "scu"}
POD = {
    "metadata": {"name": "p", "namespace": "n", "labels": LABELS},
    "spec": {"nodeName": "a"},
    "status": {"phase": "Running"},
}


@pytest.mark.parametrize(
    ("text", "selected"),
    [
        ("", True),
        ("app=web", True),
        ("app==web", True),
        ("app=db", False),
        ("app!=db", True),
        ("absent!=x", True),
        ("app in (web, db),tier", True),
        ("app in (db)", False),
        ("app notin (db)", True),
        ("absent notin (db)", True),
        ("app notin (web)", False),
        ("!absent", True),
        ("!app", False),
        ("absent", False),
        ("topology.kubernetes.io/zone=scu,app=web", True),
        ("app=web, tier=back", False),
    ],
)
def test_label_selectors(text: str, selected: bool) -> None:
    assert label_match(text)(POD) is selected


@pytest.mark.parametrize(
    ("text", "selected"),
    [
        ("metadata.name=p,metadata.namespace=n", True),
        ("spec.nodeName=b", False),
        ("spec.nodeName!=b", True),
        ("status.phase=Running", True),
        ("status.phase!=Running", False),
        ("spec.unschedulable=false", True),
    ],
)
def test_field_selectors(text: str, selected: bool) -> None:
    assert field_match(text)(POD) is selected


@pytest.mark.parametrize("text", ["app in web", "a b", "=x", "app=(x)"])
def test_selectors_that_cannot_be_read(text: str) -> None:
    with pytest.raises(ApiError) as refused:
        label_match(text)
    assert refused.value.code == 400


@pytest.mark.parametrize(
    ("selector", "selected"),
    [
        (None, False),
        ({}, True),
        ({"matchLabels": {"app": "web"}}, True),
        ({"matchLabels": {"app": "db"}}, False),
        ({"matchExpressions": [{"key": "app", "operator": "In", "values": ["web"]}]}, True),
        ({"matchExpressions": [{"key": "x", "operator": "NotIn", "values": ["web"]}]}, True),
        ({"matchExpressions": [{"key": "x", "operator": "Exists"}]}, False),
        ({"matchExpressions": [{"key": "x", "operator": "DoesNotExist"}]}, True),
    ],
)
def test_label_selector_values(selector: Any, selected: bool) -> None:
    assert LabelMatcher.of(selector).matches(LABELS) is selected
