"""When Kubernetes deletes the pod of a silent node, by its condition and the pod's tolerations."""

from typing import Any

import pytest

from gitbot.kubevirt.source_node import deletion_of
from gitbot.model.text.instants import parse_instant

SINCE = "2026-12-01T00:00:00Z"
KEY = "node.kubernetes.io/unreachable"
AT_ONCE = parse_instant(SINCE)
DELETED = parse_instant("2026-12-01T00:05:00Z")


@pytest.mark.parametrize(
    ("status", "since", "tolerations", "expected"),
    [
        ("Unknown", SINCE, [{"key": KEY, "tolerationSeconds": 300}], DELETED),
        ("Unknown", SINCE, [{"operator": "Exists", "tolerationSeconds": 300}], DELETED),
        ("Unknown", SINCE, [{"key": KEY}, {"key": KEY, "tolerationSeconds": 300}], 0),  # for ever
        ("True", SINCE, [{"key": KEY, "tolerationSeconds": 300}], 0),
        ("False", SINCE, [{"key": KEY, "tolerationSeconds": 300}], AT_ONCE),  # taint not-ready
        ("Unknown", SINCE, [], AT_ONCE),
        ("Unknown", "yesterday", [{"key": KEY, "tolerationSeconds": 300}], 0),
        ("Unknown", SINCE, [{"key": KEY, "tolerationSeconds": "long"}], 0),
        ("Unknown", SINCE, [{"key": KEY, "tolerationSeconds": [300]}], 0),
    ],
)
def test_a_pod_is_deleted_after_what_it_tolerates(
    status: str, since: str, tolerations: list[dict[str, Any]], expected: int
) -> None:
    ready = {"type": "Ready", "status": status, "lastTransitionTime": since}
    node = {"status": {"conditions": [ready]}}
    assert deletion_of(node, {"spec": {"tolerations": tolerations}}) == expected
    assert deletion_of(node, None) == 0
