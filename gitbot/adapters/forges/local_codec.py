"""JSON files of the local forge to values and back."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from gitbot.ports.forge import CheckState, CommitStatus, PullRequest, PullState, Review


def encode_pull(pull: PullRequest) -> bytes:
    """A pull request as JSON text."""
    return _dump(asdict(pull))


def decode_pull(data: bytes) -> PullRequest:
    """A pull request of JSON text."""
    value = json.loads(data)
    value["state"] = PullState(value["state"])
    value["labels"] = tuple(value["labels"])
    value["reviews"] = tuple(Review(**review) for review in value["reviews"])
    return PullRequest(**value)


def encode_statuses(statuses: tuple[CommitStatus, ...]) -> bytes:
    """Statuses of one commit as JSON text."""
    return _dump([asdict(status) for status in statuses])


def decode_statuses(data: bytes) -> tuple[CommitStatus, ...]:
    """Statuses of one commit."""
    return tuple(
        CommitStatus(**{**item, "state": CheckState(item["state"])}) for item in json.loads(data)
    )


def _dump(value: Any) -> bytes:
    return (json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode()
