"""What is equal is made once; what differs in anything is not taken for the same."""

from types import MappingProxyType
from typing import Any

from gitbot.model.caches import ContentCache, IdentityCache
from gitbot.model.cluster.scheduling import Affinity


def test_equal_data_is_made_once() -> None:
    made: list[Any] = []

    def make(data: Any) -> str:
        made.append(data)
        return str(data)

    alike = ContentCache(make, most=2)
    for data in ({"a": [1, "x"]}, {"a": [1, "x"]}, {"a": [True, "x"]}, {"a": [1, "x", None]}):
        assert alike(data) == str(data)
    assert len(made) == 3


def test_the_same_data_is_made_once_and_kept_so_that_nothing_else_is_taken_for_it() -> None:
    made: list[Any] = []

    def make(*data: Any) -> tuple[Any, ...]:
        made.append(data)
        return data

    same, one, other = IdentityCache(make, most=2), {"a": 1}, {"a": 1}
    assert [same(one, None) is same(one, None), same(one, None) is same(other, None)] == [
        True,
        False,
    ]
    assert len(made) == 2
    assert all(same({"n": number}) == ({"n": number},) for number in range(10))


def test_what_is_no_plain_data_is_made_each_time() -> None:
    alike = ContentCache[int](len)
    assert [alike(MappingProxyType({"a": 1})), alike(MappingProxyType({}))] == [1, 0]


def test_terms_that_take_values_from_labels_are_not_shared_by_other_labels() -> None:
    term = {"topologyKey": "zone", "labelSelector": {}, "matchLabelKeys": ["app"]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    spec = {"affinity": {"podAntiAffinity": required}}
    one, other = (Affinity.of(spec, namespace="a", labels={"app": app}) for app in "xy")
    assert [found.required_anti[0].selector.requirements[0].values for found in (one, other)] == [
        ("x",),
        ("y",),
    ]
