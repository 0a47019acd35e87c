"""A pass asks the cluster once for each right, however many proposals it plans."""

import pytest

from gitbot.errors import ClusterError
from gitbot.workflows.core.rights import asked_once


def test_each_right_is_asked_once() -> None:
    asked: list[tuple[str, str]] = []

    def missing(group: str, namespace: str) -> tuple[str, ...]:
        asked.append((group, namespace))
        if group == "nodes":
            raise ClusterError("no answer")
        return (f"create in {namespace}",)

    ask = asked_once(missing)
    for _ in range(3):
        assert ask("move", "a") == ("create in a",)
        with pytest.raises(ClusterError, match="no answer"):
            ask("nodes", "")
    assert asked == [("move", "a"), ("nodes", "")]
