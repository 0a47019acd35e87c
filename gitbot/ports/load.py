"""Measured load: an optional source beside the cluster. It is read only."""

from __future__ import annotations

from typing import Protocol

from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.cluster.load import ClusterLoad


class LoadSource(Protocol):
    """Where the load of nodes comes from."""

    def read(self, snapshot: ClusterSnapshot) -> ClusterLoad:
        """What is known of the nodes of a snapshot.

        A source that does not answer, or answers something else, is a sentence in `missing`, never
        an error: load is optional. Values keep the time at which they were measured.
        """
