"""Load of nodes from a JSON file on this machine."""

from __future__ import annotations

from pathlib import Path

from gitbot.errors import SnapshotError
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.cluster.load import ClusterLoad
from gitbot.snapshot import read_load


class LoadFile:
    """Implements ports.load.LoadSource. The file is read again at each snapshot."""

    def __init__(self, path: str) -> None:
        self._path = path

    def read(self, snapshot: ClusterSnapshot) -> ClusterLoad:
        try:
            return read_load(self._path, Path(self._path).read_bytes(), snapshot.of("Node"))
        except OSError as error:
            return ClusterLoad(missing=(f"no load was read: {self._path}: {error.strerror}",))
        except SnapshotError as error:
            return ClusterLoad(missing=(f"no load was read: {error.message}",))
