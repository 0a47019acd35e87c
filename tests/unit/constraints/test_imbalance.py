"""BalanceRule's rule: which nodes count, and when one is much fuller than another."""

import pytest

from gitbot.constraints.moves.instances import Instances
from gitbot.constraints.rules.imbalance import Imbalance, imbalance
from gitbot.model.text.names import IntentRef
from tests.doubles.problems import named, node, problem, vm

REF = IntentRef(kind="BalanceRule", namespace="", name="even")
TAINT = [{"key": "infra", "effect": "NoSchedule"}]
SOFT = [{"key": "infra", "effect": "PreferNoSchedule"}]


def rule(empty: object, *, above: int = 30, members: str = "a b") -> tuple[Imbalance, Instances]:
    """a and b with 40 GiB fill most of n1; c fills half of n2; the third node is given."""
    case = problem(
        [
            node("n1", memory="100Gi"),
            node("n2", memory="100Gi"),
            empty,  # type: ignore[list-item]
            vm("a", on="n1", memory="40Gi"),
            vm("b", on="n1", memory="40Gi"),
            vm("c", on="n2", memory="50Gi"),
        ],
        goals=[],
    )
    vms = frozenset(map(named, members.split()))
    return imbalance(case.snapshot, REF, vms, above=above), Instances.of(case.snapshot)


@pytest.mark.parametrize(
    ("more", "emptiest"),
    [
        ({}, "n3 0 %"),
        ({"taints": SOFT}, "n3 0 %"),
        ({"taints": TAINT}, "n2 50 %"),
        ({"unschedulable": True}, "n2 50 %"),
        ({"labels": {"kubevirt.io/schedulable": "false"}}, "n2 50 %"),
    ],
)
def test_only_nodes_that_take_vms_count_as_empty(more: dict[str, object], emptiest: str) -> None:
    found, instances = rule(node("n3", memory="100Gi", **more), above=20)  # type: ignore[arg-type]
    (breach,) = found.breaches(instances.occupancy())
    assert breach.message.startswith("n1 is 80 % full by requests and " + emptiest)
    assert (breach.key, breach.amount, breach.vms) == ("spread", 1, (named("a"), named("b")))


def test_a_difference_within_the_limit_is_no_breach() -> None:
    for above, count in ((79, 1), (80, 0)):
        found, instances = rule(node("n3", memory="100Gi"), above=above)
        assert len(found.breaches(instances.occupancy())) == count


def test_a_full_node_that_no_member_can_leave_does_not_count() -> None:
    found, instances = rule(node("n3", memory="100Gi"), members="c")
    (breach,) = found.breaches(instances.occupancy())
    assert breach.message.startswith("n2 is 50 % full")


def test_it_judges_where_the_vms_would_be() -> None:
    found, instances = rule(node("n3", memory="100Gi"), above=40)
    after = {**instances.occupancy(), named("a"): frozenset({"n3"})}
    assert found.breaches(instances.occupancy())
    assert found.breaches(after) == ()
