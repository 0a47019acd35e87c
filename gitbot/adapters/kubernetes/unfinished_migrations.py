"""Reads the unfinished migrations as the server prints them, which is a fiftieth of their bytes.

KubeVirt has no field or label that selects them, and keeps up to five finished ones of each VMI.
"""

from __future__ import annotations

from gitbot.adapters.kubernetes.snapshot_reader import (
    RESTARTS,
    ListExpired,
    ListsRead,
    list_all,
    list_pages,
)
from gitbot.adapters.kubernetes.transport import PRINTED, Transport
from gitbot.errors import SnapshotError
from gitbot.kubernetes.objects import at, name_of
from gitbot.kubernetes.phases import FINAL_PHASES, is_final
from gitbot.snapshot import RESOURCES, PageEnd, Rows, plain_json

_MIGRATIONS = RESOURCES["VirtualMachineInstanceMigration"]
_COLUMNS = ("Name", "Phase", "VMI")  # KubeVirt: pkg/virt-operator/…/components/crds.go
_WITHOUT_OBJECTS = {"includeObject": "None"}


def unfinished_migrations(transport: Transport) -> tuple[tuple[str, str], ...]:
    """Name and VMI of each unfinished migration, without namespaces, sorted."""
    for _ in range(RESTARTS):
        printed = _Printed()
        try:
            list_pages(
                transport,
                _MIGRATIONS,
                "",
                ListsRead[Rows](),
                printed.add,
                more=_WITHOUT_OBJECTS,
                accept=PRINTED,
            )
        except ListExpired:
            continue
        except _OtherFormError:
            return _whole(transport)
        return tuple(sorted(printed.unfinished))
    raise SnapshotError(f"the list of {_MIGRATIONS.kind} expired {RESTARTS} times")


def _whole(transport: Transport) -> tuple[tuple[str, str], ...]:
    found = (item for item in list_all(transport, _MIGRATIONS) if not is_final(item))
    return tuple(sorted((name_of(item).name, str(at(item, "spec", "vmiName"))) for item in found))


class _OtherFormError(Exception):
    """The server does not print these columns."""


class _Printed:
    """Takes the pages of a meta.k8s.io/v1 Table."""

    def __init__(self) -> None:
        self.unfinished: list[tuple[str, str]] = []

    def add(self, data: bytes) -> PageEnd:
        page = plain_json(data)
        try:
            columns = [column["name"] for column in page["columnDefinitions"]]
            name, phase, vmi = map(columns.index, _COLUMNS)
            cells = [row["cells"] for row in page["rows"] or ()]
            self.unfinished += [
                (str(row[name]), str(row[vmi])) for row in cells if row[phase] not in FINAL_PHASES
            ]
        except (LookupError, TypeError, ValueError) as error:
            raise _OtherFormError from error
        metadata = page.get("metadata") or {}
        return PageEnd(
            token=metadata.get("continue") or "",
            resource_version=metadata.get("resourceVersion") or "",
        )
