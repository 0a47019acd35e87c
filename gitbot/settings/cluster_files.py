"""Clusters of the configuration that files beside it describe: the folder of `clustersFrom`."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, WithJsonSchema

from gitbot.documents import (
    TOP,
    Path,
    Report,
    envelope_is_known,
    finding_at,
    read_documents,
    report_nothing,
    schemas,
    shown,
    value_at,
)
from gitbot.documents.fields import Metadata, Value, decode
from gitbot.documents.formats import BAD_PATH, repository_path
from gitbot.model.plan.findings import Finding, Refusal, Severity
from gitbot.model.text.names import ApiVersion
from gitbot.settings.clusters import ClusterSettings, ClusterSpec, check_cluster

KIND = "Cluster"
DESCRIPTION = "One cluster of the configuration, in the folder that clustersFrom names."
_TAKEN = rf"{BAD_PATH}|\*|/$|^(intents|policies)(/|$)"

Beside = Callable[[str], Mapping[str, bytes] | None]
"""Gives the files below a folder by repository path; None if they are not at hand."""


def _folder(text: str) -> str:
    repository_path(text)
    if not is_cluster_folder(text):
        hint = "write clusters, or another folder that has only files of clusters"
        raise Refusal("path", "a folder of its own, without `*`", hint)
    return text


def is_cluster_folder(text: str) -> bool:
    return bool(text) and re.search(_TAKEN, text) is None


ClusterFolder = Annotated[
    str,
    AfterValidator(_folder),
    Field(min_length=1),
    WithJsonSchema({**schemas.PATH, "not": {"pattern": _TAKEN}, "examples": ["clusters"]}),
]


class _Cluster(Value):
    api_version: ApiVersion
    kind: Literal["Cluster"]
    metadata: Metadata = Field(
        description="The cluster's name, which is that of its folder below intents/."
    )
    spec: ClusterSpec = Field(
        default=ClusterSpec.model_construct(), description="What is configured of it."
    )

    @property
    def settings(self) -> ClusterSettings:
        fields = {name: getattr(self.spec, name) for name in self.spec.model_fields_set}
        return ClusterSettings(name=self.metadata.name, **fields)


@lru_cache(maxsize=1)
def cluster_schema() -> dict[str, Any]:
    schema = _Cluster.model_json_schema(by_alias=True)
    return schemas.with_schema_frame(schema, kind=KIND, description=DESCRIPTION)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterPlace:
    """Where a configuration names a cluster. `context` is None in an entry that has errors."""

    report: Report
    name: str
    name_path: Path
    context: str | None = None
    context_path: Path = ()

    @property
    def where(self) -> str:
        return f"{self.report.file}:{self.report.document.positions.value(self.name_path).line}"


def not_at_hand(_folder: str) -> None:
    """For readers who need nothing of clusters: the files of clusters are not read."""


def among(files: Mapping[str, bytes]) -> Beside:
    """The files beside a configuration are among these."""
    return lambda folder: {
        path: data for path, data in files.items() if path.startswith(f"{folder}/")
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterFiles:
    """What the files of clusters say. `unread`: the clusters that errors stop, each with these."""

    clusters: tuple[ClusterSettings, ...] = ()
    unread: Mapping[str, tuple[Finding, ...]] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()


def read_cluster_files(files: Mapping[str, bytes], own: Iterable[ClusterPlace]) -> ClusterFiles:
    """The clusters of these files; `own` are those of the configuration itself.

    An error stops the clusters of its file. Of two files with one name or context both are stopped:
    no reader can know which of them is meant.
    """
    own = tuple(own)
    places, found = list(own), list[Finding]()
    clusters: dict[str, ClusterSettings] = {}
    unread: dict[str, list[Finding]] = {}
    for path, data in sorted(files.items()):
        read = _read_file(path, data, places)
        found += read.findings
        errors = [item for item in read.findings if item.severity is Severity.ERROR]
        for name in (*read.names, *read.twins) if errors else ():
            unread.setdefault(name, []).extend(errors)
        clusters |= {made.name: made for made in read.clusters}
    stopped = {name: tuple(errors) for name, errors in unread.items()}
    for place in own:  # a file that takes a name of the configuration stops nothing but itself
        stopped.pop(place.name, None)
    kept = (made for name, made in clusters.items() if name not in unread)
    return ClusterFiles(clusters=tuple(kept), unread=stopped, findings=tuple(found))


@dataclass(frozen=True, slots=True, kw_only=True)
class _ReadFile:
    """One file: the clusters that it names, and those elsewhere with a name or context of it."""

    names: tuple[str, ...]
    twins: tuple[str, ...]
    clusters: tuple[ClusterSettings, ...]
    findings: tuple[Finding, ...]


def _read_file(path: str, data: bytes, places: list[ClusterPlace]) -> _ReadFile:
    """Read a file, and add to `places` what it names."""
    ending = _wrong_ending(path)
    found = [ending] if ending is not None else []
    documents, problems = read_documents(data, path) if path.endswith(".yaml") else ((), ())
    found.extend(problems)
    names: list[str] = []
    twins: list[str] = []
    clusters: list[ClusterSettings] = []
    for document in documents:
        report = Report(document=document, file=path, room="settings")
        made = _read_cluster(report)
        if (place := _place(report, made)) is not None:
            twin = _report_twin(place, places)
            twins += [twin.name] if twin is not None else []
            places.append(place)
            names.append(place.name)
        clusters += [made] if made is not None else []
        found.extend(report.findings)
    # a file without a readable name may be about the cluster that it is called after
    named = tuple(names) or ((path.rpartition("/")[2].rpartition(".")[0],) if found else ())
    return _ReadFile(
        names=named, twins=tuple(twins), clusters=tuple(clusters), findings=tuple(found)
    )


def _wrong_ending(path: str) -> Finding | None:
    """A file that nothing reads, although its author must think so. A README is fine."""
    if path.endswith(".yaml") or not path.lower().endswith((".yaml", ".yml", ".json")):
        return None
    ending = f".{path.rpartition('.')[2]}"
    message = f"found the ending {shown(ending)}, expected .yaml"
    return finding_at(path, TOP, "settings/file-name", message, "rename the file")


def _read_cluster(report: Report) -> ClusterSettings | None:
    if not envelope_is_known(report, (KIND,)):
        return None
    report_nothing(report, cluster_schema)
    made = decode(report, _Cluster, cluster_schema)
    check_cluster(report, ("spec",))
    return made.settings if made is not None else None


def _place(report: Report, made: ClusterSettings | None) -> ClusterPlace | None:
    path: Path = ("metadata", "name")
    name = value_at(report.document.value, path)
    if not isinstance(name, str):
        return None
    if made is None:
        return ClusterPlace(report=report, name=name, name_path=path)
    written: Path = ("spec", "context") if made.context_name else path
    return ClusterPlace(
        report=report, name=name, name_path=path, context=made.context, context_path=written
    )


def own_places(report: Report) -> Iterator[ClusterPlace]:
    """The clusters that the configuration itself names, as far as they can be read."""
    items = value_at(report.document.value, ("spec", "clusters"))
    for index, item in enumerate(items if isinstance(items, list) else []):
        name = item.get("name") if isinstance(item, dict) else None
        if isinstance(name, str):
            context = item.get("context") or name
            yield ClusterPlace(
                report=report,
                name=name,
                name_path=("spec", "clusters", index, "name"),
                context=context if isinstance(context, str) else None,
            )


def _report_twin(place: ClusterPlace, others: Iterable[ClusterPlace]) -> ClusterPlace | None:
    """The other cluster whose name or context a cluster has.

    Review of a file may be up to the team of its cluster. The team must not reach another team's
    cluster by its context.
    """
    for other in others:
        if other.name == place.name:
            message = f'found "{place.name}" again, expected every cluster once'
            where = f"it stands in {other.where}"
            place.report.at_value(
                place.name_path, "duplicate", f"{message}; {where}", "rename or remove it"
            )
            return other
    for other in others:
        if place.context is not None and other.context == place.context:
            place.report.at_value(
                place.context_path,
                "duplicate",
                f"found the context {shown(place.context)}, expected one that no other cluster "
                f"has; cluster {other.name} in {other.where} has it",
                "name the context of this cluster",
            )
            return other
    return None
