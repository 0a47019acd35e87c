"""Files to intents: every error of every file in one run, each at its place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, cast

from pydantic import ValidationError

from gitbot.documents import DEFAULT_BUDGET, Budget, Document, Positions, read_documents
from gitbot.documents.decoding import Report, report_errors, report_nothing, value_at
from gitbot.documents.envelope import envelope_is_known
from gitbot.intents.fields import API_VERSION
from gitbot.intents.intent import Intent, IntentSet, Spec, spec_digest
from gitbot.intents.openings import never_open
from gitbot.intents.places import check_file_name, check_place, is_ours, is_proposal_file
from gitbot.intents.references import WINDOW, Reference, unknown_windows
from gitbot.intents.registry import KINDS, Kind, document_model, document_schema
from gitbot.intents.schedules import ScheduleSpec, check_times
from gitbot.model.findings import Finding, has_errors, sort_key
from gitbot.model.later import with_later
from gitbot.model.names import IntentRef

# A proposal lists every move: enough for 4,000 of them, whose file nobody writes by hand.
PROPOSAL_BUDGET = Budget(bytes=4 * 1024 * 1024, nodes=200_000)


class ClusterView(Protocol):
    """What reading intents needs to know of a configured cluster."""

    @property
    def time_zone(self) -> str | None:
        """The zone of schedules that name none."""


class SettingsView(Protocol):
    """What reading intents needs to know of the configuration."""

    @property
    def allow_auto(self) -> bool:
        """Whether heal: Auto and returnHome: Auto are allowed."""

    def cluster(self, name: str) -> ClusterView | None:
        """The cluster of that name."""


def read_intents(
    files: Mapping[str, bytes], settings: SettingsView, cluster: str
) -> tuple[IntentSet, tuple[Finding, ...]]:
    """The valid intents of a cluster and everything that is wrong with its files.

    `files` maps repository paths below `intents/<cluster>/` to contents; a README among them is
    nobody's business. A document with an error is not in the set; callers act on nothing while
    there is one.
    """
    reading = _Reading(settings, cluster)
    for file in sorted(filter(is_ours, files)):
        reading.read(file, files[file])
    windows = [name for kind, _, name in reading.seen if kind == "MaintenanceWindow"]
    reading.findings.extend(unknown_windows(reading.references, windows))
    reading.findings.extend(never_open(reading.intents, reading.time_zone))
    ordered = sorted(
        reading.intents, key=lambda i: (i.ref.namespace, i.ref.name, i.ref.kind, i.ref.file)
    )
    intents = IntentSet(cluster=cluster, intents=tuple(ordered))
    return intents, tuple(sorted(reading.findings, key=sort_key))


class _Reading:
    """All files of a cluster being read."""

    def __init__(self, settings: SettingsView, cluster: str) -> None:
        self.settings = settings
        self.cluster = cluster
        configured = settings.cluster(cluster)
        self.time_zone = configured.time_zone if configured is not None else None
        self.findings: list[Finding] = []
        self.intents: list[Intent] = []
        self.references: list[Reference] = []
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

    def _document(self, document: Document, file: str) -> None:
        report = Report(document=document, file=file, room="intents")
        if envelope_is_known(report, API_VERSION, tuple(KINDS)):
            kind = KINDS[document.value["kind"]]
            check_place(report, kind.name, self.cluster)
            model = self._decode(report, kind)
            kind.check(report)
            self._namespace_hint(report, kind)
            _auto(report, allowed=self.settings.allow_auto)
            self._identity(report, kind)
            _times(report, kind, model, self.time_zone)
            self._window(report)
            if model is not None and document.sound and not has_errors(tuple(report.findings)):
                self.intents.append(_intent(model, document, file))
        self.findings.extend(report.findings)

    def _decode(self, report: Report, kind: Kind) -> Any:
        """The document as its kind's model; None where a field is wrong."""
        report_nothing(report, lambda: document_schema(kind.name))
        try:
            return document_model(kind.name).model_validate(
                report.document.value, by_alias=True, by_name=False, context={"file": report.file}
            )
        except ValidationError as error:
            records = error.errors(include_url=False, include_input=False)
            report_errors(
                report,
                [dict(record) for record in records if not _is_namespace(record, kind)],
                lambda: document_schema(kind.name),
            )
            return None

    def _namespace_hint(self, report: Report, kind: Kind) -> None:
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

    def _window(self, report: Report) -> None:
        """Remember that a request names a window, to be looked for when all files are read."""
        name = value_at(report.document.value, WINDOW)
        if report.document.value["kind"] == "MigrationRequest" and isinstance(name, str):
            positions = report.document.positions
            self.references.append(Reference(name=name, file=report.file, positions=positions))

    def _identity(self, report: Report, kind: Kind) -> None:
        """One identity, one document: the later one is the error, and names both places."""
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
                "duplicate-identity",
                f"found {kind.name} {name} again, expected it once; it stands in "
                f"{first[0]}:{line} too",
                "rename or remove one of the two",
            )


def _is_namespace(record: Mapping[str, Any], kind: Kind) -> bool:
    """Whether an error is one about the presence of a namespace, which has its own words."""
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
                "write Propose, or set allowAuto: true in .gitbot.yaml",
            )


def _times(report: Report, kind: Kind, model: Any, zone: str | None) -> None:
    """What the calendar says about a schedule whose fields are right, whatever else is wrong."""
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


def _intent(model: Any, document: Document, file: str) -> Intent:
    metadata = model.metadata
    spec = cast("Spec", model.spec)
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
