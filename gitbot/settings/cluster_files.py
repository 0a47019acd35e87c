"""Clusters of the configuration that files beside it describe: the folder of `clustersFrom`."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
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
from gitbot.model.plan.findings import Finding, Refusal
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


def read_cluster_files(
    files: Mapping[str, bytes], own: Iterable[ClusterPlace]
) -> tuple[tuple[ClusterSettings, ...], list[Finding]]:
    """The clusters of these files, and findings; `own` are those of the configuration itself."""
    clusters: list[ClusterSettings] = []
    places, found = list(own), list[Finding]()
    for path, data in sorted(files.items()):
        if (ending := _wrong_ending(path)) is not None:
            found.append(ending)
        if not path.endswith(".yaml"):
            continue
        documents, problems = read_documents(data, path)
        found.extend(problems)
        for document in documents:
            report = Report(document=document, file=path, room="settings")
            made = _read_cluster(report)
            place = _place(report, made)
            if place is not None:
                _report_twins(place, places)
                places.append(place)
            clusters += [made] if made is not None else []
            found.extend(report.findings)
    return tuple(clusters), found


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


def _report_twins(place: ClusterPlace, others: Iterable[ClusterPlace]) -> None:
    """A name or a context that is taken.

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
            return
    for other in others:
        if place.context is not None and other.context == place.context:
            place.report.at_value(
                place.context_path,
                "duplicate",
                f"found the context {shown(place.context)}, expected one that no other cluster "
                f"has; cluster {other.name} in {other.where} has it",
                "name the context of this cluster",
            )
            return
