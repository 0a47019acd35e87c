"""Relief of hot nodes: one VM leaves each, none comes, and giving up a place never harms."""

import pytest

from gitbot.constraints.rules.load_relief import LoadRelief
from gitbot.constraints.rules.worsening import monotone, signature
from gitbot.kubernetes.names import NamespacedName
from gitbot.model.text.names import IntentRef

A, B, C, D = (NamespacedName(namespace="ns", name=name) for name in "abcd")
RULE = LoadRelief(
    ref=IntentRef(kind="LoadRule", namespace="", name="cool"),
    hot={"n1": "n1 is hot", "n2": "n2 is hot"},
    here={"n1": frozenset({A, B}), "n2": frozenset({C})},
    members=frozenset({A, B, C, D}),
    left={"n2": frozenset({B})},
)
CASES = [
    (("n1", "n1", "n2", "n3"), ["node=n1", "node=n2"]),
    (("n3", "n1", "n2", "n3"), ["node=n2"]),
    (("n3", "n1", "n3", "n3"), []),
    (("n2", "n1", "n3", "n3"), ["arrived:ns/a"]),
    (("n3", "n1", "n3", "n1"), ["arrived:ns/d"]),
    (("n1 n3", "n1", "n3", "n3"), ["node=n1"]),  # on its way: it holds both places
    (("n3", "n1 n2", "n3", "n3"), []),  # with an old launcher pod on n2, where it ran before
    (("", "n1", "n3", "n3"), []),
]


@pytest.mark.parametrize(("places", "keys"), CASES)
def test_breaches(places: tuple[str, ...], keys: list[str]) -> None:
    names = zip((A, B, C, D), places, strict=True)
    occupancy = {vm: frozenset(nodes.split()) for vm, nodes in names if nodes}
    assert [breach.key for breach in RULE.breaches(occupancy)] == keys


def test_nodes_that_are_not_hot_are_alike() -> None:
    assert monotone(RULE)
    assert signature(RULE, "n3") == signature(RULE, "n4")
    assert signature(RULE, "n1") != signature(RULE, "n2")
    assert (RULE.explain(A, "n1", {}), RULE.explain(A, "n3", {})) == ("n1 is hot", "")
