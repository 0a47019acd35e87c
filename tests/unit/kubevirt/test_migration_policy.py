from __future__ import annotations

from typing import Any

import pytest

from gitbot.kubernetes.objects import name_of
from gitbot.kubevirt.migration_policy import matching_policy, migration_settings

VMI: dict[str, Any] = {"metadata": {"labels": {"app": "db", "tier": "gold"}}}
NAMESPACE: dict[str, Any] = {"metadata": {"labels": {"team": "a"}}}


def policy(name: str, own: Any = None, around: Any = None, **spec: Any) -> dict[str, Any]:
    selectors = {"virtualMachineInstanceSelector": own, "namespaceSelector": around}
    return {"metadata": {"name": name}, "spec": {"selectors": selectors, **spec}}


@pytest.mark.parametrize(
    ("policies", "winner"),
    [
        ([], None),
        ([{"metadata": {"name": "nil"}, "spec": {}}], None),
        ([policy("all")], "all"),
        ([policy("other", {"app": "web"})], None),
        ([policy("far", None, {"team": "b"})], None),
        ([policy("all"), policy("one", {"app": "db"})], "one"),
        ([policy("one", {"app": "db"}), policy("two", {"app": "db", "tier": "gold"})], "two"),
        ([policy("mixed", {"app": "db"}, {"team": "a"}), policy("one", {"app": "db"})], "mixed"),
        (
            [
                policy("mixed", {"app": "db"}, {"team": "a"}),
                policy("own", {"app": "db", "tier": "gold"}),
            ],
            "own",
        ),
        ([policy("b", {"app": "db"}), policy("a", {"tier": "gold"})], "a"),
    ],
)
def test_most_labels_then_most_of_the_vmi_then_the_name(
    policies: list[dict[str, Any]], winner: str | None
) -> None:
    for order in (policies, policies[::-1]):
        found = matching_policy(order, VMI, NAMESPACE)
        assert (None if found is None else name_of(found).name) == winner


def test_a_policy_wins_over_the_cluster_and_post_copy_takes_disruption_along() -> None:
    kubevirt = {"spec": {"configuration": {"migrations": {"bandwidthPerMigration": "1Gi"}}}}
    settings = migration_settings(kubevirt, None)
    assert settings["bandwidthPerMigration"] == "1Gi"
    assert settings["completionTimeoutPerGiB"] == 150
    assert settings["allowWorkloadDisruption"] is False
    chosen = policy("p", allowPostCopy=True, bandwidthPerMigration="2Gi")
    settings = migration_settings(kubevirt, chosen)
    assert settings["bandwidthPerMigration"] == "2Gi"
    assert (settings["allowPostCopy"], settings["allowWorkloadDisruption"]) == (True, True)
