from typing import Any

import pytest

from gitbot.errors import SnapshotError
from gitbot.kubernetes.objects import name_of
from gitbot.kubevirt.migration_policy import (
    matching_policy,
    migration_settings,
    most_bandwidth,
    time_to_copy,
)

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


@pytest.mark.parametrize(
    ("configured", "spec", "bandwidth", "seconds"),
    [
        ({}, {}, 0, 450),
        ({"bandwidthPerMigration": None, "completionTimeoutPerGiB": None}, {}, 0, 450),
        ({"bandwidthPerMigration": "64Mi"}, {}, 64 << 20, 450),
        ({"bandwidthPerMigration": "64Mi"}, {"bandwidthPerMigration": "0"}, 0, 450),
        ({"completionTimeoutPerGiB": 800}, {"completionTimeoutPerGiB": 2}, 0, 6),
        ({}, {"completionTimeoutPerGiB": 0}, 0, 0),
    ],
)
def test_bandwidth_and_the_time_for_two_gibibytes(
    configured: dict[str, Any], spec: dict[str, Any], bandwidth: int, seconds: int
) -> None:
    """2Gi are 2.15 GB: KubeVirt rounds up to 3."""
    kubevirt = {"spec": {"configuration": {"migrations": configured}}}
    settings = migration_settings(kubevirt, policy("p", **spec))
    assert (most_bandwidth(settings), time_to_copy(settings, 2 << 30)) == (bandwidth, seconds)


def test_a_malformed_policy_is_named() -> None:
    with pytest.raises(SnapshotError, match="MigrationPolicy odd cannot be read"):
        matching_policy([policy("odd", own=["app=db"])], VMI, NAMESPACE)
