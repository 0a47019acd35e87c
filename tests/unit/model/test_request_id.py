"""Ids of requests read back as they print, and nothing else is one."""

import copy

import pytest

from gitbot.kubernetes.names import NamespacedName
from gitbot.model.ledger.request_id import (
    DrainId,
    HealId,
    MigrationRequestId,
    ObservedId,
    OccurrenceId,
    RequestId,
    ReturnId,
    parse_request_id,
)
from gitbot.model.text.names import IntentRef

OCCURRENCE = OccurrenceId(window="rack-r03", id="20261201T030000Z")
CLUSTER_RULE = HealId.of(IntentRef(kind="PlacementRule", namespace="", name="gpu"))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("request/db/one", MigrationRequestId(namespace="db", name="one")),
        ("drain/rack-r03/20261201T030000Z", DrainId(occurrence=OCCURRENCE)),
        ("return/rack-r03/20261201T030000Z", ReturnId(occurrence=OCCURRENCE)),
        ("heal/db/PlacementRule/gpu", HealId(namespace="db", kind="PlacementRule", name="gpu")),
        ("heal/Cluster/PlacementRule/gpu", CLUSTER_RULE),
        ("observed/db/vm-1", ObservedId(vm=NamespacedName(namespace="db", name="vm-1"))),
    ],
)
def test_an_id_reads_back_as_it_prints(text: str, value: RequestId) -> None:
    read = RequestId.read(text)
    assert (type(read), read) == (type(value), value)
    assert str(value) == text
    assert type(str(value)) is str
    assert read.planned == read
    copied = copy.deepcopy(read)
    assert (type(copied), copied) == (type(read), read)


@pytest.mark.parametrize("text", ["", "request", "request/db", "drain/a/b/c", "evict/db/one"])
def test_any_other_text_is_not_an_id(text: str) -> None:
    assert parse_request_id(text) is None
    with pytest.raises(ValueError, match="expected an id of a request"):
        RequestId.read(text)


def test_a_healing_gets_the_digits_of_its_digest_when_it_is_approved() -> None:
    planned = RequestId.read("heal/db/PlacementRule/gpu")
    approved = planned.approved("sha256:0123456789abcdef")
    assert approved == RequestId.read("heal/db/PlacementRule/gpu/0123456789ab")
    assert approved.planned == planned
    asked = RequestId.read("request/db/one")
    assert asked.approved("sha256:0123456789abcdef") == asked


def test_an_occurrence_names_its_requests() -> None:
    assert OccurrenceId.parse(str(OCCURRENCE)) == OCCURRENCE
    assert str(OCCURRENCE.drain) == "drain/rack-r03/20261201T030000Z"
    assert str(OCCURRENCE.homecoming) == "return/rack-r03/20261201T030000Z"
    assert OCCURRENCE.drain.occurrence == OCCURRENCE.homecoming.occurrence == OCCURRENCE
    assert not OCCURRENCE.open_ended
    assert OccurrenceId(window="rack-r03", id="0123456789ab").open_ended


def test_a_healing_names_its_rule() -> None:
    match RequestId.read("heal/db/PlacementRule/gpu/0123456789ab"):
        case HealId(namespace=namespace, kind=kind, name=name):
            assert (namespace, kind, name) == ("db", "PlacementRule", "gpu")
        case other:
            pytest.fail(f"{other!r} is no healing")
