"""Kubernetes objects to ClusterSnapshot and back; minimal, versioned file format. No client."""

from gitbot.snapshot.files import Reading, read_files, read_snapshot
from gitbot.snapshot.value import from_objects, from_pruned
from gitbot.snapshot.versioned import write_snapshot

__all__ = [
    "Reading",
    "from_objects",
    "from_pruned",
    "read_files",
    "read_snapshot",
    "write_snapshot",
]
