"""Measured load: an optional source beside the cluster. Read-only."""

from __future__ import annotations

from typing import Protocol

from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.cluster.load import ClusterLoad


class LoadSource(Protocol):
    """A source of the nodes' load."""

    def read(self, snapshot: ClusterSnapshot) -> ClusterLoad:
        """The known load of the nodes of a snapshot.

        A source that does not respond, or responds with other data, is a sentence in `missing`,
        never an error: load is optional. Values keep the time at which they were measured.
        """
