"""Files to intents: every error of every file in one run, each at its place."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from gitbot.documents import (
    DEFAULT_BUDGET,
    Budget,
    ParsedDocument,
    Path,
    Positions,
    Report,
    by_field,
    envelope_is_known,
    finding_at,
    read_documents,
    report_nothing,
    shown,
    value_at,
)
from gitbot.documents.fields import Value, decode
from gitbot.intents.file_layout import (
    check_file_name,
    check_place,
    check_twins,
    check_unread,
    is_kustomization,
    is_ours,
    is_proposal_file,
    proposal_file,
)
from gitbot.intents.folder_owners import check_owner, missing_owners
from gitbot.intents.holidays import with_holidays
from gitbot.intents.intent import Intent, IntentSet, spec_digest
from gitbot.intents.kinds.kind import Kind, no_window
from gitbot.intents.never_open import never_open
from gitbot.intents.registry import KINDS, document_model, document_schema
from gitbot.intents.schedules import ScheduleSpec, check_times
from gitbot.intents.window_conflicts import conflicts
from gitbot.model.lazy_fields import with_later
from gitbot.model.plan.findings import Finding, has_errors, sort_key
from gitbot.model.text.names import CONFIGURATION_FILE, IntentRef
from gitbot.model.text.wording import nearest
from gitbot.settings import Settings

# A proposal lists every move. This is enough for 4,000 moves; people do not write these files.
PROPOSAL_BUDGET = Budget(bytes=4 * 1024 * 1024, nodes=200_000)
UNKNOWN_WINDOW = "intents/unknown-window"
DUPLICATE_IDENTITY = "intents/duplicate-identity"
_WINDOW: Path = ("spec", "window")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reference:
    """A MaintenanceWindow's name, and the document of the request that names it."""

    name: str
    file: str
    positions: Positions


def read_intents(
    files: Mapping[str, bytes], settings: Settings, cluster: str
) -> tuple[IntentSet, tuple[Finding, ...]]:
    """The valid intents of a cluster and everything that is wrong with its files.

    `files` maps repository paths below `intents/<cluster>/` to contents; a README and a
    kustomization among them are ignored. A document with an error is not in the set. Callers do
    nothing while there is an error.
    """
    reading = _Reading(settings, cluster)
    ours = [file for file in files if is_ours(file) and not is_kustomization(file, files[file])]
    for file in sorted(ours):
        reading.read(file, files[file])
    reading.findings.extend(check_unread(files, cluster))
    bound = [path for owner in settings.owners for path in owner.paths]
    known = [*bound, proposal_file(cluster, "any")]
    reading.findings.extend(check_twins(ours, known))
    windows = [name for kind, _, name in reading.seen if kind == "MaintenanceWindow"]
    reading.findings.extend(_unknown_windows(reading.references, windows))
    reading.findings.extend(missing_owners(reading.intents, settings))
    frozen, about_files = with_holidays(reading.intents, files, cluster, reading.time_zone)
    reading.findings.extend(about_files)
    reading.findings.extend(never_open(frozen, reading.time_zone))
    reading.findings.extend(conflicts(frozen, reading.time_zone, one_zone=reading.one_zone))
    ordered = sorted(frozen, key=lambda i: (i.ref.namespace, i.ref.name, i.ref.kind, i.ref.file))
    intents = IntentSet(cluster=cluster, intents=tuple(ordered))
    return intents, tuple(sorted(reading.findings, key=sort_key))


class _Reading:
    def __init__(self, settings: Settings, cluster: str) -> None:
        self.settings = settings
        self.cluster = cluster
        configured = settings.cluster(cluster)
        self.time_zone = configured.time_zone if configured is not None else None
        self.one_zone = configured is not None and configured.one_zone_at_a_time
        self.findings: list[Finding] = []
        self.intents: list[Intent] = []
        self.references: list[_Reference] = []
        self.seen: dict[tuple[str, str, str], tuple[str, Positions]] = {}

    def read(self, file: str, data: bytes) -> None:
        if (finding := check_file_name(file)) is not None:
            self.findings.append(finding)
            return
        proposal = is_proposal_file(file, self.cluster)
        budget = PROPOSAL_BUDGET if proposal else DEFAULT_BUDGET
        documents, findings = read_documents(data, file, budget=budget)
        self.findings.extend(findings)
        for document in documents:
            self._document(document, file)

    def _document(self, document: ParsedDocument, file: str) -> None:
        report = Report(document=document, file=file, room="intents")
        if envelope_is_known(report, tuple(sorted(KINDS))):
            kind = KINDS[document.value["kind"]]
            by_bot = [each.name for each in KINDS.values() if each.by_bot]
            check_place(report, kind.name, self.cluster, by_bot=by_bot)
            model = self._decode(report, kind)
            if document.reported:
                schema = functools.partial(document_schema, kind.name)
                self.findings = by_field(self.findings, report, schema)
            kind.check(report)
            self._namespace_hint(report, kind)
            _auto(report, allowed=self.settings.allow_auto)
            if not kind.by_bot:
                check_owner(
                    report,
                    self.settings,
                    namespaced=kind.namespaced,
                    everywhere=kind.everywhere,
                )
            self._identity(report, kind)
            _times(report, kind, model, self.time_zone)
            self._window(report, kind)
            if model is not None and document.sound and not has_errors(tuple(report.findings)):
                self.intents.append(_intent(model, document, file))
        self.findings.extend(report.findings)

    def _decode(self, report: Report, kind: Kind[Any]) -> Any:
        report_nothing(report, lambda: document_schema(kind.name))
        return decode(
            report,
            document_model(kind.name),
            lambda: document_schema(kind.name),
            skip=lambda record: _is_namespace(record, kind),
        )

    def _namespace_hint(self, report: Report, kind: Kind[Any]) -> None:
        metadata = value_at(report.document.value, ("metadata",))
        if not isinstance(metadata, dict):
            return
        path = ("metadata", "namespace")
        if kind.namespaced and "namespace" not in metadata:
            report.at_parent(
                path,
                "namespace",
                f"found nothing, expected the namespace that the {kind.name} acts in",
                "add namespace: NAME",
            )
        if not kind.namespaced and "namespace" in metadata:
            report.at_key(
                path,
                "namespace",
                f"found a namespace, expected none: a {kind.name} acts in the whole cluster",
                "remove it",
            )

    def _window(self, report: Report, kind: Kind[Any]) -> None:
        """Remember that a document names a window, and look for it when all files are read."""
        name = value_at(report.document.value, _WINDOW)
        if kind.window is not no_window and isinstance(name, str):
            positions = report.document.positions
            self.references.append(_Reference(name=name, file=report.file, positions=positions))

    def _identity(self, report: Report, kind: Kind[Any]) -> None:
        """Each identity has one document. A later one is an error that names both places."""
        metadata = value_at(report.document.value, ("metadata",))
        if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
            return
        namespace = metadata.get("namespace") if kind.namespaced else ""
        if not isinstance(namespace, str):
            return
        identity = (kind.name, namespace, metadata["name"])
        place = (report.file, report.document.positions)
        first = self.seen.setdefault(identity, place)
        if first is not place:
            name = f"{namespace}/{identity[2]}" if namespace else identity[2]
            line = first[1].key(("metadata",)).line
            report.at_key(
                ("metadata",),
                DUPLICATE_IDENTITY.removeprefix("intents/"),
                f"found {kind.name} {name} again, expected it once; it stands in "
                f"{first[0]}:{line} too",
                "rename or remove one of the two",
            )


def _is_namespace(record: Mapping[str, Any], kind: Kind[Any]) -> bool:
    """Whether an error is about the presence of a namespace, which has its own message."""
    missing = "missing" if kind.namespaced else "extra_forbidden"
    return tuple(record["loc"]) == ("metadata", "namespace") and record["type"] == missing


def _auto(report: Report, *, allowed: bool) -> None:
    spec = value_at(report.document.value, ("spec",))
    if allowed or not isinstance(spec, dict):
        return
    for field in ("heal", "returnHome"):
        if spec.get(field) == "Auto":
            report.at_value(
                ("spec", field),
                "auto",
                'found "Auto" without allowAuto, expected Propose',
                f"write Propose, or set allowAuto: true in {CONFIGURATION_FILE}",
            )


def _times(report: Report, kind: Kind[Any], model: Any, zone: str | None) -> None:
    """The calendar's findings about a well-formed schedule, even if the rest is wrong."""
    if "schedule" not in kind.spec.model_fields:
        return
    path = ("spec", "schedule")
    schedule = value_at(report.document.value, path)
    repeated = any(f.key_path.startswith("spec.schedule.exclude") for f in report.findings)
    if not isinstance(schedule, dict) or repeated:
        return
    if model is not None:
        spec = model.spec.schedule
    else:
        try:
            spec = ScheduleSpec.model_validate(schedule, by_alias=True, by_name=False, context={})
        except ValidationError:
            return  # reported field by field
    check_times(report, path, spec, zone)


def _intent(model: Any, document: ParsedDocument, file: str) -> Intent:
    metadata = model.metadata
    spec: Value = model.spec
    ref = IntentRef(
        kind=model.kind,
        namespace=getattr(metadata, "namespace", ""),
        name=metadata.name,
        file=file,
        line=document.line,
    )
    intent = Intent(
        ref=ref,
        spec=spec,
        positions=document.positions,
        index=document.index,
        labels=metadata.labels,
        annotations=metadata.annotations,
    )
    return with_later(intent, spec_digest=lambda: spec_digest(spec))


def _unknown_windows(references: Iterable[_Reference], windows: Iterable[str]) -> list[Finding]:
    known = sorted(windows)
    return [_unknown(reference, known) for reference in references if reference.name not in known]


def _unknown(reference: _Reference, known: list[str]) -> Finding:
    near = nearest(reference.name, known)
    return finding_at(
        reference.file,
        reference.positions.value(_WINDOW),
        UNKNOWN_WINDOW,
        f"found {shown(reference.name)}, expected the name of a MaintenanceWindow of this cluster",
        path=_WINDOW,
        hint=f"did you mean {near}?" if near else "add the window, or remove the field",
    )
