"""What a label selector demands."""

from typing import Any

import pytest

from gitbot.kubernetes.selectors import LabelMatcher

IN = {"key": "tier", "operator": "In"}


@pytest.mark.parametrize(
    ("selector", "label"),
    [
        ({"matchLabels": {"app": "db"}}, ("app", "db")),
        ({"matchExpressions": [{**IN, "values": ["web"]}]}, ("tier", "web")),
        ({"matchLabels": {"app": ""}}, ("app", "")),
        ({"matchLabels": {"app": "db", "tier": "web"}}, None),
        ({"matchExpressions": [{**IN, "values": ["web", "db"]}]}, None),
        ({"matchExpressions": [{**IN, "values": ["no value!"]}]}, None),
        ({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["db"]}]}, None),
        ({"matchExpressions": [{"key": "app", "operator": "Exists"}]}, None),
        ({}, None),
        (None, None),
    ],
)
def test_the_one_label_that_is_all_a_selector_demands(
    selector: dict[str, Any] | None, label: tuple[str, str] | None
) -> None:
    assert LabelMatcher.of(selector).one_label == label


def test_a_selector_of_one_label_matches_exactly_what_has_it() -> None:
    selector = LabelMatcher.of({"matchLabels": {"app": "db"}})
    assert [selector.matches(labels) for labels in ({"app": "db", "x": "y"}, {"app": "w"}, {})] == [
        True,
        False,
        False,
    ]
