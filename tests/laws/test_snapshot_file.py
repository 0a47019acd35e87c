"""Snapshots: what is written is read back, order does not matter, what no mask names is gone."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gitbot.model.cluster import KINDS
from gitbot.snapshot import from_objects, read_snapshot, write_snapshot
from gitbot.snapshot.decode import prune
from gitbot.snapshot.masks import ANNOTATIONS, HOOK_SIDECARS, MASKS, METADATA, Mask
from gitbot.snapshot.resources import RESOURCES

TEXT = st.text(max_size=6)
LEAF = st.one_of(TEXT, st.booleans(), st.integers(-(2**53), 2**53))
VALUE = st.recursive(
    LEAF,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner, max_size=2),
    max_leaves=4,
)
ANNOTATION = st.sampled_from(
    [*sorted(ANNOTATIONS - {HOOK_SIDECARS}), "placement.gitbot.dev/request"]
)
PLACES = st.dictionaries(ANNOTATION, TEXT, min_size=1, max_size=2)
QUICK = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def masked(mask: Mask) -> st.SearchStrategy[Any]:
    """Values of the shape that a mask allows, with few of its fields."""
    if mask is None:
        return VALUE
    if isinstance(mask, list):
        return st.lists(masked(mask[0]), max_size=2)
    names = sorted(mask)

    def fill(chosen: list[str]) -> st.SearchStrategy[Any]:
        return st.fixed_dictionaries(
            {name: PLACES if name == "annotations" else masked(mask[name]) for name in chosen}
        )

    if not names:
        return st.just({})
    return st.lists(st.sampled_from(names), unique=True, max_size=3).flatmap(fill)


@st.composite
def objects(draw: st.DrawFn) -> list[dict[str, Any]]:
    """A few objects of random kinds with distinct names."""
    found = []
    for number, kind in enumerate(draw(st.lists(st.sampled_from(KINDS), max_size=6))):
        body = draw(masked(MASKS[kind]))
        metadata = draw(masked({key: METADATA[key] for key in ("uid", "labels", "annotations")}))
        metadata |= {"name": f"o{number}"} | (
            {"namespace": "a"} if RESOURCES[kind].namespaced else {}
        )
        if kind == "Pod" and isinstance(body.get("status"), dict):
            body["status"].pop("phase", None)
        found.append(
            {
                "apiVersion": RESOURCES[kind].api_version,
                "kind": kind,
                **body,
                "metadata": metadata,
            }
        )
    return found


@QUICK
@given(objects(), st.integers(0, 2**32))
def test_what_is_written_is_read_back(found: list[dict[str, Any]], taken_at: int) -> None:
    snapshot = from_objects("c", found, taken_at)
    data = write_snapshot(snapshot)
    assert read_snapshot([("f", data)], 0) == snapshot
    assert write_snapshot(read_snapshot([("f", data)], 0)) == data


@QUICK
@given(objects(), st.randoms(use_true_random=False))
def test_the_order_of_objects_and_keys_does_not_matter(
    found: list[dict[str, Any]], chance: random.Random
) -> None:
    shuffled = [dict(chance.sample(sorted(each.items()), len(each))) for each in found]
    chance.shuffle(shuffled)
    assert write_snapshot(from_objects("c", shuffled, 0)) == write_snapshot(
        from_objects("c", found, 0)
    )


@QUICK
@given(objects())
def test_pruning_what_is_pruned_changes_nothing(found: list[dict[str, Any]]) -> None:
    for each in found:
        kept = prune(each["kind"], each)
        assert prune(each["kind"], kept) == kept


def salted(value: Any, mask: Mask, salt: str) -> Any:
    """The value with an unknown field wherever a mask decides what is kept."""
    if mask is None:
        return value
    if isinstance(mask, list):
        return [salted(item, mask[0], salt) for item in value]
    inner: Mapping[str, Mask] = mask
    return {
        **{key: salted(item, inner[key], salt) for key, item in value.items()},
        salt: "c4n4ry",
    }


@QUICK
@given(objects(), st.sampled_from(["env", "command", "args", "userData", "data", "stringData"]))
def test_fields_that_no_mask_names_are_gone(found: list[dict[str, Any]], salt: str) -> None:
    for each in found:
        kind = each["kind"]
        if kind == "ConfigMap":
            continue
        mask = {"metadata": METADATA, **MASKS[kind], "apiVersion": None, "kind": None}
        assert prune(kind, salted(each, mask, salt)) == prune(kind, each)
