"""Measured load: stale is missing, missing is said once, nothing is guessed."""

from typing import Any

import pytest

from gitbot.errors import SnapshotError
from gitbot.kubernetes.names import NamespacedName
from gitbot.model.cluster.load import ClusterLoad, DirtyRate, LoadValue, fresh
from gitbot.snapshot import from_objects, load_of, read_snapshot, write_snapshot

NOW = 1_796_590_800
DB = NamespacedName(namespace="shop", name="db")


def value(node: str, metric: str = "cpu", amount: int = 5000, age: int = 0) -> LoadValue:
    return LoadValue(node=node, metric=metric, amount=amount, time=NOW - age, source="test")


@pytest.mark.parametrize(
    ("values", "kept", "missing"),
    [
        ((), [], ()),
        ([value("a"), value("b"), value("a", "ioPressure")], ["a cpu", "a ioPressure", "b cpu"],
         ("ioPressure of b was not measured",)),
        ([value("a", age=300), value("b", age=301)], ["a cpu"],
         ("cpu of b is older than 300 seconds", "no PSI")),
        # a clock that is ahead is as wrong as one that is behind
        ([value("a", age=-301), value("b")], ["b cpu"],
         ("cpu of a is older than 300 seconds", "no PSI")),
        ([value("a"), value("elsewhere")], ["a cpu"], ("cpu of b was not measured", "no PSI")),
    ],
)  # fmt: skip
def test_stale_is_missing_and_missing_is_said_once(
    values: tuple[LoadValue, ...], kept: list[str], missing: tuple[str, ...]
) -> None:
    found = fresh(ClusterLoad(values=tuple(sorted(values))), now=NOW, nodes=["b", "a"])
    assert [f"{item.node} {item.metric}" for item in found.values] == kept
    assert len(found.missing) == len(missing)
    for said, expected in zip(found.missing, missing, strict=True):
        assert said.startswith(expected)


def test_a_snapshot_carries_load_and_without_it_its_file_has_the_same_bytes() -> None:
    bare = from_objects("prod", [], NOW)
    load = ClusterLoad(
        values=(value("a", amount=7125),),
        missing=("no PSI",),
        dirty=(DirtyRate(vm=DB, rate=73400320, time=NOW - 10),),
    )
    written = write_snapshot(bare.with_load(load))
    again = read_snapshot([("file", written)], NOW)
    assert again.load == load
    assert again.digest == bare.digest
    assert write_snapshot(again) == written
    assert read_snapshot([("file", write_snapshot(bare))], NOW).load is None


def test_what_guests_write_counts_as_long_as_a_published_snapshot() -> None:
    rate = DirtyRate(vm=DB, rate=1, time=NOW)
    load = ClusterLoad(dirty=(rate,))
    assert fresh(load, now=NOW + 1800, nodes=["a"]) == load
    (said,) = fresh(load, now=NOW + 1801, nodes=["a"]).missing
    assert said == "what the guests write is older than 1800 seconds"
    assert fresh(load, now=NOW + 1801, nodes=["a"], max_age=3600) == load


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"namespace": ""}, "dirtyRates[1].namespace: found '', expected that of a VM"),
        ({"name": 7}, "dirtyRates[1].name: found 7, expected that of a VM"),
        ({"bytesPerSecond": -1}, "dirtyRates[1].bytesPerSecond: found '-1', expected a number"),
        ({"time": "now"}, "dirtyRates[1].time: found 'now', expected a time such as"),
        ({"name": "web"}, "dirtyRates: found shop/web twice, expected once"),
    ],
)
def test_writes_of_guests_that_are_not_understood_are_errors(
    changes: dict[str, Any], said: str
) -> None:
    time = "2026-12-06T21:00:00Z"
    whole = {"namespace": "shop", "name": "db", "bytesPerSecond": 1, "time": time}
    document = {"kind": "ClusterLoad", "values": []}
    rates = [{**whole, "name": "web"}, {**whole, **changes}]
    with pytest.raises(SnapshotError) as error:
        load_of("file", {**document, "dirtyRates": rates})
    assert error.value.message.startswith(f"file: {said}")


def entry(**changes: Any) -> dict[str, Any]:
    whole = {"node": "a", "metric": "cpu", "percent": "71.2", "time": "2026-12-06T21:00:00Z"}
    return {**whole, **changes}


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ([entry(metric="cpus")], r"values\[0\].metric: found 'cpus', .*did you mean cpu\?"),
        ([entry(), entry(node="b", percent="much")], r"values\[1\].percent: found 'much'"),
        ([entry(percent=True)], r"values\[0\].percent: found 'true'"),
        ([entry(percent="-1")], r"values\[0\].percent: found '-1'"),
        ([entry(time="now")], r"values\[0\].time: found 'now', expected a time such as"),
        ([entry(node="")], r"values\[0\].node: found ''"),
        ([entry(), entry()], r"found cpu of a twice, expected once"),
        ([3], r"values\[0\]: found '3', expected an object"),
        (None, r"values: found 'None', expected a list"),
    ],
)
def test_a_wrong_value_is_named_with_its_place(entries: Any, said: str) -> None:
    with pytest.raises(SnapshotError, match=said):
        load_of("load.json", {"kind": "ClusterLoad", "values": entries})
