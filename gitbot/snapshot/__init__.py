"""Kubernetes objects to ClusterSnapshot and back, in a minimal, versioned format. No API client."""

from gitbot.snapshot.decode import decode_object, indented_json, plain_json, prune
from gitbot.snapshot.followed_rows import EventType, FollowedRows, WatchEvent, read_event
from gitbot.snapshot.from_objects import HOLD_NAME, belongs, from_objects, from_sorted
from gitbot.snapshot.list_pages import KindReader, PageEnd
from gitbot.snapshot.load_file import load_of, node_metrics, read_load
from gitbot.snapshot.packed_rows import Rows
from gitbot.snapshot.resources import EVENTS, LISTED, RESOURCES, Resource
from gitbot.snapshot.snapshot_file import MAX_BYTES, read_files, read_snapshot
from gitbot.snapshot.versioned import write_snapshot

__all__ = [
    "EVENTS",
    "HOLD_NAME",
    "LISTED",
    "MAX_BYTES",
    "RESOURCES",
    "EventType",
    "FollowedRows",
    "KindReader",
    "PageEnd",
    "Resource",
    "Rows",
    "WatchEvent",
    "belongs",
    "decode_object",
    "from_objects",
    "from_sorted",
    "indented_json",
    "load_of",
    "node_metrics",
    "plain_json",
    "prune",
    "read_event",
    "read_files",
    "read_load",
    "read_snapshot",
    "write_snapshot",
]
