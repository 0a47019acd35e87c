"""Calls of a forge's webhook: only new ones that are signed wake a pass."""

import hashlib
import hmac
from io import BytesIO

import pytest

from gitbot.service.wake_calls import KNOWN, LARGEST, Header, WakeCalls

SECRET = "between us"


def signature(body: bytes, secret: str = SECRET) -> str:
    return hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def header(given: dict[str, str]) -> Header:
    return lambda name: given.get(name, "")


class Taken:
    """WakeCalls, and how often it woke."""

    def __init__(self) -> None:
        self.woken = 0
        self.calls = WakeCalls(SECRET, self.wake)

    def wake(self) -> None:
        self.woken += 1

    def call(self, body: bytes, **headers: str) -> int:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        given = {"Content-Length": str(len(body)), **named}
        return self.calls.take(header(given), BytesIO(body).read)[0]


def signed_by(forge: str, body: bytes) -> dict[str, str]:
    return {
        "github": {"X-Hub-Signature-256": f"sha256={signature(body)}"},
        "gitea": {"X-Gitea-Signature": signature(body)},
        "forgejo": {"X-Forgejo-Signature": signature(body)},
        "gitlab": {"X-Gitlab-Token": SECRET},
    }[forge]


@pytest.mark.parametrize("forge", ["github", "gitea", "forgejo", "gitlab"])
def test_a_signed_call_wakes_once_however_often_it_comes(forge: str) -> None:
    taken, body = Taken(), b'{"ref": "refs/heads/main"}'
    headers = signed_by(forge, body)
    assert [taken.call(body, **headers) for _ in range(3)] == [202, 200, 200]
    assert taken.woken == 1
    other = b'{"ref": "refs/heads/work"}'
    assert taken.call(other, **signed_by(forge, other)) == 202
    assert taken.woken == 2


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"X-Hub-Signature-256": ""},
        {"X-Hub-Signature-256": signature(b"{}")},  # without its prefix
        {"X-Hub-Signature-256": f"sha256={signature(b'{}', 'other')}"},
        {"X-Hub-Signature-256": f"sha256={signature(b'{ }')}"},
        {"X-Hub-Signature": f"sha1={hmac.new(SECRET.encode(), b'{}', hashlib.sha1).hexdigest()}"},
        {"X-Gitea-Signature": "é"},
        {"X-Gitlab-Token": ""},
        {"X-Gitlab-Token": SECRET[:-1]},
    ],
)
def test_a_call_without_a_valid_signature_wakes_nobody(headers: dict[str, str]) -> None:
    taken = Taken()
    assert taken.call(b"{}", **headers) == 401
    assert taken.woken == 0


@pytest.mark.parametrize(
    ("length", "status"), [("", 411), ("-1", 411), ("1e3", 411), (str(LARGEST + 1), 413)]
)
def test_a_call_without_a_size_or_with_too_much_is_not_read(length: str, status: int) -> None:
    def read(_: int) -> bytes:
        raise AssertionError("read")

    taken = Taken()
    assert taken.calls.take(header({"Content-Length": length}), read)[0] == status


def test_a_call_that_ends_early_is_not_valid() -> None:
    taken = Taken()
    headers = {"Content-Length": "10", "X-Gitea-Signature": signature(b"{}" + bytes(8))}
    assert taken.calls.take(header(headers), BytesIO(b"{}").read)[0] == 401


def test_the_memory_of_calls_is_bounded() -> None:
    taken = Taken()
    bodies = [str(number).encode() for number in range(KNOWN + 1)]
    for body in bodies:
        taken.call(body, X_Gitea_Signature=signature(body))
    assert taken.call(bodies[-1], X_Gitea_Signature=signature(bodies[-1])) == 200
    assert taken.call(bodies[0], X_Gitea_Signature=signature(bodies[0])) == 202
