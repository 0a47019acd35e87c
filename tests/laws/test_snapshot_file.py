"""Snapshots: what is written is read back, order does not matter, what no tree names is gone."""

import gzip
import random
from collections.abc import Mapping
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gitbot.kubevirt.names import HEARTBEAT
from gitbot.model.cluster.cluster import KINDS
from gitbot.snapshot import from_objects, read_snapshot, write_snapshot
from gitbot.snapshot.decode import plain_json, prune
from gitbot.snapshot.field_tree import (
    ANNOTATIONS,
    HOOK_SIDECARS,
    METADATA,
    Branch,
    Fields,
    FieldTreatment,
    Tree,
)
from gitbot.snapshot.kept_fields import FIELDS
from gitbot.snapshot.resources import RESOURCES
from gitbot.snapshot.versioned import read_versioned, read_written

TEXT = st.text(max_size=6)
LEAF = st.one_of(TEXT, st.booleans(), st.integers(-(2**53), 2**53))
VALUE = st.recursive(
    LEAF,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner, max_size=2),
    max_leaves=4,
)
ANNOTATION = st.sampled_from(
    [*sorted(ANNOTATIONS - {HEARTBEAT, HOOK_SIDECARS}), "placement.gitbot.dev/request"]
)
PLACES = st.dictionaries(ANNOTATION, TEXT, min_size=1, max_size=2)
QUICK = settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])


def bare(tree: Tree) -> Tree:
    """What a tree keeps, without what is said of it beside; None where it keeps all."""
    if isinstance(tree, Branch):
        return None if tree.how is FieldTreatment.WHOLE else bare(tree.tree)
    return tree if isinstance(tree, list | Mapping) else None


def kept(tree: Tree) -> st.SearchStrategy[Any]:
    """Values of the shape that a tree allows, with few of its fields."""
    fields = bare(tree)
    if isinstance(fields, list):
        return st.lists(kept(fields[0]), max_size=2)
    if not isinstance(fields, Mapping):
        return VALUE
    names = sorted(fields)

    def fill(chosen: list[str]) -> st.SearchStrategy[Any]:
        return st.fixed_dictionaries(
            {name: PLACES if name == "annotations" else kept(fields[name]) for name in chosen}
        )

    if not names:
        return st.just({})
    return st.lists(st.sampled_from(names), unique=True, max_size=3).flatmap(fill)


@st.composite
def objects(draw: st.DrawFn) -> list[dict[str, Any]]:
    """A few objects of random kinds with distinct names."""
    found = []
    for number, kind in enumerate(draw(st.lists(st.sampled_from(KINDS), max_size=6))):
        body = draw(kept(FIELDS[kind]))
        metadata = draw(kept({key: METADATA[key] for key in ("uid", "labels", "annotations")}))
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
@given(objects())
def test_the_quick_way_reads_what_the_careful_way_reads(found: list[dict[str, Any]]) -> None:
    text = gzip.decompress(write_snapshot(from_objects("c", found, 5, resource_version="7")))
    quick = read_written(text)
    assert quick == read_versioned("f", plain_json(text))
    assert quick.digest == from_objects("c", found, 5).digest
    assert read_written(text.replace(b'"name":"c"', b'"name":"d"')) is None


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
        once = prune(each["kind"], each)
        assert prune(each["kind"], once) == once


def salted(value: Any, tree: Tree, salt: str) -> Any:
    """The value with an unknown field wherever a tree decides what is kept."""
    fields = bare(tree)
    if isinstance(fields, list):
        return [salted(item, fields[0], salt) for item in value]
    if not isinstance(fields, Mapping):
        return value
    return {
        **{key: salted(item, fields[key], salt) for key, item in value.items()},
        salt: "c4n4ry",
    }


@QUICK
@given(objects(), st.sampled_from(["env", "command", "args", "userData", "data", "stringData"]))
def test_fields_that_no_tree_names_are_gone(found: list[dict[str, Any]], salt: str) -> None:
    for each in found:
        kind = each["kind"]
        if kind in ("ConfigMap", "ControllerRevision"):  # they keep `data`
            continue
        tree: Fields = {"metadata": METADATA, **FIELDS[kind], "apiVersion": None, "kind": None}
        assert prune(kind, salted(each, tree, salt)) == prune(kind, each)
