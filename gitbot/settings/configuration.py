"""The configuration value (`.gitbot.yaml`) and its reader.

Durations are whole seconds, `bandwidth` is bytes a second. Values made in code may use the
snake_case names; a file knows only the names of the reference.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, ConfigDict, Field, PrivateAttr, WithJsonSchema

from gitbot.documents import (
    ParsedDocument,
    Path,
    Report,
    envelope_is_known,
    read_documents,
    report_nothing,
    schemas,
    value_at,
)
from gitbot.documents.fields import (
    DnsLabel,
    Duration,
    DurationOrZero,
    Metadata,
    Text,
    Value,
    decode,
)
from gitbot.documents.formats import amount
from gitbot.errors import InvalidInput
from gitbot.model.plan.findings import Finding, has_errors, sort_key
from gitbot.model.text.names import CONFIGURATION_FILE, ApiVersion
from gitbot.settings.cluster_files import (
    Beside,
    ClusterFiles,
    ClusterFolder,
    is_cluster_folder,
    own_places,
    read_cluster_files,
)
from gitbot.settings.clusters import ClusterSettings, Share, check_cluster
from gitbot.settings.forge import Branch, ForgeSettings, check_repository
from gitbot.settings.load_sources import LoadScorer
from gitbot.settings.notices import NoticeSettings
from gitbot.settings.owners import (
    OverrideSettings,
    OwnerSettings,
    RepositoryPath,
    check_owners,
)
from gitbot.settings.resilience import ResilienceSettings

KIND = "Configuration"
DESCRIPTION = f"The configuration of gitbot: {CONFIGURATION_FILE} at the root of the repository."

Pack = Literal["default", "hygiene", "kubevirt", "safety", "tenancy"]
DEFAULT_PACKS: tuple[Pack, ...] = ("default",)


def _bytes(value: Any) -> Any:
    return amount(value) if isinstance(value, str) else value


class ProposalSettings(Value):
    """When and how often the bot proposes."""

    announce: DurationOrZero = Field(
        default=3 * 86_400, description="How long before a drain's lead its proposal opens."
    )
    stabilize: DurationOrZero = Field(
        default=900,
        description="How long a breach must stand before its healing is proposed; four times as "
        "long if the rule is Preferred.",
    )
    own_terms: Literal["Propose", "Report"] = Field(
        default="Propose",
        description="Whether gitbot proposes to heal required terms in VMs' own specs.",
    )
    max_open: Share = Field(default=10, description="Open pull requests of the bot at once.")
    per_vm_cooldown: DurationOrZero = Field(
        default=86_400, description="How long a VM that gitbot moved is left alone."
    )


class BreakerSettings(Value):
    """When gitbot stops and asks a person; counts within a day, since the last resume."""

    failures: Share = Field(default=3, description="Failed moves.")
    unexpected_landings: Share = Field(default=1, description="Moves that landed elsewhere.")
    foreign_returns: Share = Field(default=2, description="VMs that somebody else moved back.")


class ManifestSettings(Value):
    """Where VM manifests live: a path here, or in another repository at a ref."""

    path: RepositoryPath = Field(description="Folder of VM manifests.")
    repository: Text | None = Field(default=None, description="Another repository; default here.")
    ref: Branch | None = Field(default=None, description="Branch, tag or commit; default main.")


class Settings(Value):
    """The configuration; every default is in the reference."""

    model_config = ConfigDict(
        json_schema_extra={"anyOf": [{"required": ["clusters"]}, {"required": ["clustersFrom"]}]}
    )

    clusters: tuple[ClusterSettings, ...] = Field(
        default=(),
        strict=False,
        min_length=1,
        description="The clusters whose placement is kept here.",
    )
    clusters_from: ClusterFolder | None = Field(
        default=None,
        description="Folder with more clusters, each a document of kind Cluster in a .yaml file.",
    )
    forge: ForgeSettings = Field(
        default=ForgeSettings.model_construct(), description="Where pull requests live."
    )
    mode: Literal["Enforce", "Observe"] = Field(
        default="Observe", description="Observe: plans and comments, applies nothing."
    )
    approval: Literal["Plan", "Intent"] = Field(
        default="Plan", description="What merging approves: the shown plan, or any permitted plan."
    )
    allow_auto: bool = Field(
        default=False, description="Whether heal: Auto and returnHome: Auto are allowed."
    )
    publish_snapshot: bool = Field(
        default=True, description="Whether reconcile publishes the snapshot on its branch."
    )
    record_audit: bool = Field(
        default=True,
        description="Whether reconcile records in the ledger what an audit finds, since when.",
    )
    snapshot_max_age: Duration = Field(default=1800, description="Oldest snapshot to plan on.")
    plan_expiry: Duration = Field(default=86_400, description="How long a plan may be merged.")
    proposals: ProposalSettings = Field(
        default=ProposalSettings.model_construct(),
        description="When and how often the bot proposes.",
    )
    breaker: BreakerSettings = Field(
        default=BreakerSettings.model_construct(),
        description="When gitbot stops and asks a person.",
    )
    notify: tuple[NoticeSettings, ...] = Field(
        default=(), strict=False, description="Webhooks that get what a person must know."
    )
    unschedulable_timeout: Duration = Field(
        default=300, description="How long a target pod may stay unschedulable."
    )
    bandwidth: Annotated[
        int, BeforeValidator(_bytes), Field(ge=1), WithJsonSchema(schemas.AMOUNT)
    ] = Field(
        default=64 * 1024 * 1024,
        description="Assumed migration bandwidth in bytes a second.",
        json_schema_extra={"default": "64Mi"},
    )
    manifests: tuple[ManifestSettings, ...] = Field(
        default=(), strict=False, description="Where VM manifests live, for drift checks."
    )
    resilience: ResilienceSettings = Field(
        default=ResilienceSettings.model_construct(),
        description="Losses of nodes and zones that the cluster is to survive.",
    )
    packs: tuple[Pack, ...] = Field(
        default=DEFAULT_PACKS, strict=False, description="The policy packs of gitbot in force."
    )
    ranking: tuple[LoadScorer, ...] = Field(
        default=(),
        strict=False,
        description="Load-aware scores that choose between targets of equal breaches; needs load.",
    )
    solver: Literal["HiGHS"] | None = Field(
        default=None, deprecated=True, description="Deprecated: has no effect; remove it."
    )
    owners: tuple[OwnerSettings, ...] = Field(
        default=(),
        strict=False,
        description="Which folder acts in which namespaces, and who approves what moves there; "
        "empty: every folder in all of them.",
    )
    overrides: tuple[OverrideSettings, ...] = Field(
        default=(), strict=False, description="Who may override which policy's denials."
    )

    @property
    def applies(self) -> bool:
        return self.mode == "Enforce"

    @property
    def mode_is_missing(self) -> bool:
        """Whether the file leaves the mode to the default."""
        return "mode" not in self.model_fields_set

    @property
    def manifest_folders(self) -> tuple[str, ...]:
        """The folders of this repository that hold VM manifests."""
        return tuple(item.path for item in self.manifests if item.repository is None)

    @property
    def scheduler_files(self) -> tuple[str, ...]:
        """The files with configurations of kube-schedulers, sorted."""
        return tuple(sorted({c.scheduler_config for c in self.clusters if c.scheduler_config}))

    def owner_name(self, namespace: str) -> str:
        """The first path of the last owner of a namespace; "" for no owner."""
        owning = self.namespace_owner(namespace)
        return owning.paths[0] if owning is not None else ""

    def namespace_owner(self, namespace: str) -> OwnerSettings | None:
        owning = [item for item in self.owners if item.owns(namespace)]
        return owning[-1] if owning else None

    _unread: Mapping[str, tuple[Finding, ...]] = PrivateAttr(default_factory=dict)

    def cluster(self, name: str) -> ClusterSettings | None:
        """The settings of a cluster; None if there is none, or its file has errors."""
        return next((cluster for cluster in self.clusters if cluster.name == name), None)

    @property
    def unread(self) -> Mapping[str, tuple[Finding, ...]]:
        """The clusters whose files have errors, and these errors."""
        return self._unread

    @property
    def cluster_names(self) -> tuple[str, ...]:
        """The names of all clusters; those whose files have errors come last."""
        return (*(cluster.name for cluster in self.clusters), *sorted(self._unread))

    def errors_of(self, cluster: str) -> tuple[Finding, ...]:
        """Why a cluster is not configured, if files with errors are the reason.

        A file that cannot be read may be that of any cluster.
        """
        if self.cluster(cluster) is not None:
            return ()
        every = dict.fromkeys(item for found in self._unread.values() for item in found)
        return self._unread.get(cluster, tuple(every))

    def check_read(self, cluster: str) -> None:
        """Raises InvalidInput with `errors_of` the cluster, if there are any."""
        if errors := self.errors_of(cluster):
            raise InvalidInput("\n".join(str(finding) for finding in errors))

    def with_files(self, files: ClusterFiles) -> Self:
        made = self.model_copy(update={"clusters": (*self.clusters, *files.clusters)})
        made.__pydantic_private__ = {"_unread": files.unread}
        return made


class _ConfigurationMetadata(Metadata):
    name: DnsLabel = Field(default="default", description="A name; nothing depends on it.")


class _Configuration(Value):
    api_version: ApiVersion
    kind: Literal["Configuration"]
    metadata: _ConfigurationMetadata = Field(
        default=_ConfigurationMetadata.model_construct(), description="Name, labels, annotations."
    )
    spec: Settings = Field(description="The configuration.")


@lru_cache(maxsize=1)
def json_schema() -> dict[str, Any]:
    schema = _Configuration.model_json_schema(by_alias=True)
    return schemas.with_schema_frame(schema, kind=KIND, description=DESCRIPTION)


def read_settings(
    data: bytes, file: str, beside: Beside
) -> tuple[Settings | None, tuple[Finding, ...]]:
    """The settings of a configuration file and of the files of clusters `beside` it.

    None with at least one error if the configuration is wrong, or no file of a cluster is right.
    Another wrong file stops its own cluster.
    """
    documents, findings = read_documents(data, file)
    found = [*findings]
    settings: Settings | None = None
    for document in documents[:1]:
        settings, more = _read_document(document, file, beside)
        found.extend(more)
    for document in documents[1:]:
        report = Report(document=document, file=file, room="settings")
        message = f"found document {document.index}, expected one document in {file}"
        report.at_key((), "one-document", message, "remove it")
        found.extend(report.findings)
    ordered = tuple(sorted(found, key=sort_key))
    own = tuple(item for item in ordered if item.file == file)
    if has_errors(own) or (settings is not None and not settings.clusters and has_errors(ordered)):
        return None, ordered
    return settings, ordered


def _read_document(
    document: ParsedDocument, file: str, beside: Beside
) -> tuple[Settings | None, list[Finding]]:
    report = Report(document=document, file=file, room="settings")
    if not envelope_is_known(report, (KIND,)):
        return None, report.findings
    report_nothing(report, json_schema)
    made = decode(report, _Configuration, json_schema)
    check_repository(report, document.value)
    _names_once(report, document.value, "clusters")
    _names_once(report, document.value, "notify")
    for number, _ in enumerate(value_at(document.value, ("spec", "clusters")) or ()):
        check_cluster(report, ("spec", "clusters", number))
    _solver_has_no_effect(report, document.value)
    check_owners(report, document.value)
    files = _clusters_beside(report, beside)
    settings = made.spec.with_files(files) if made is not None else None
    return settings, [*report.findings, *files.findings]


def _clusters_beside(report: Report, beside: Beside) -> ClusterFiles:
    """What is in the folder that `clustersFrom` names."""
    spec = value_at(report.document.value, ("spec",))
    folder = value_at(spec, ("clustersFrom",))
    if isinstance(spec, dict) and not spec.keys() & {"clusters", "clustersFrom"}:
        expected = "a list of clusters, or clustersFrom and a folder with their files"
        message = f"found nothing, expected {expected}"
        report.at_parent(("spec", "clusters"), "missing-field", message, "add clusters")
    if not isinstance(folder, str) or not is_cluster_folder(folder):
        return ClusterFiles()
    files = beside(folder)
    if files is None:
        return ClusterFiles()
    read = read_cluster_files(files, own_places(report))
    if not (read.clusters or read.findings or value_at(spec, ("clusters",))):
        place: Path = ("spec", "clustersFrom")
        message = f"found no file of a cluster below {folder}, expected at least one"
        report.at_value(place, "no-cluster", message, f"add {folder}/NAME.yaml, or clusters here")
    return read


def _solver_has_no_effect(report: Report, value: Mapping[str, Any]) -> None:
    """Older files with `solver: HiGHS` stay readable; any other value is an error already."""
    path: Path = ("spec", "solver")
    if value_at(value, path) == "HiGHS":
        message = "found HiGHS, expected no solver: the field is deprecated and has no effect"
        report.warn(path, "deprecated-field", message, "remove the field")


def _names_once(report: Report, value: Mapping[str, Any], field: str) -> None:
    items = value_at(value, ("spec", field))
    seen: dict[str, int] = {}
    for index, item in enumerate(items if isinstance(items, list) else []):
        name = item.get("name") if isinstance(item, dict) else None
        if not isinstance(name, str):
            continue
        path = ("spec", field, index, "name")
        if name in seen:
            line = report.document.positions.value((*path[:2], seen[name], "name")).line
            what = "cluster" if field == "clusters" else "webhook"
            message = f'found "{name}" again, expected every {what} once; it stands in line {line}'
            report.at_value(path, "duplicate", message, "rename or remove it")
        seen.setdefault(name, index)
