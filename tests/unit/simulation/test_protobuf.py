import pytest

from gitbot.simulation.http.protobuf import MAGIC, decode
from gitbot.simulation.status_errors import ApiError


def field(number: int, data: bytes) -> bytes:
    return bytes([number << 3 | 2, len(data)]) + data


def envelope(version: str, kind: str, raw: bytes) -> bytes:
    meta = field(1, version.encode()) + field(2, kind.encode())
    return MAGIC + field(1, meta) + field(2, raw) + field(3, b"") + field(4, b"")


LABEL = field(11, field(1, b"a") + field(2, b"b"))
METADATA = field(1, b"hold") + field(2, b"") + field(3, b"gitbot") + LABEL + field(14, b"x/y")


def test_a_config_map() -> None:
    data = field(2, field(1, b"reason") + field(2, "später".encode()))
    raw = field(1, METADATA) + data + bytes([4 << 3, 1])
    assert decode(envelope("v1", "ConfigMap", raw)) == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": "hold",
            "namespace": "gitbot",
            "labels": {"a": "b"},
            "finalizers": ["x/y"],
        },
        "data": {"reason": "später"},
        "immutable": True,
    }


def test_an_eviction() -> None:
    options = bytes([1 << 3, 0xAC, 0x02]) + field(2, field(1, b"uid")) + field(5, b"All")
    raw = field(1, METADATA) + field(2, options)
    assert decode(envelope("policy/v1", "Eviction", raw))["deleteOptions"] == {
        "gracePeriodSeconds": 300,
        "preconditions": {"uid": "uid"},
        "dryRun": ["All"],
    }


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"{}", 400),
        (MAGIC + b"\x0a\x7f", 400),
        (MAGIC + b"\x0a", 400),
        (MAGIC + b"\x0d\x00\x00\x00\x00", 400),
        (MAGIC + b"\x08\x01", 400),
        (envelope("v1", "ConfigMap", field(1, field(1, b"\xff"))), 400),
        (envelope("v1", "Pod", b""), 415),
        (MAGIC, 415),
    ],
)
def test_bodies_that_are_refused(data: bytes, code: int) -> None:
    with pytest.raises(ApiError) as refused:
        decode(data)
    assert refused.value.code == code
