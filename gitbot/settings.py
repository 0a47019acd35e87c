"""The configuration value (`.gitbot.yaml`) and its reader.

Durations are whole seconds, `bandwidth` is bytes a second. Values made in code may use the
snake_case names; a file knows only the names of the reference.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    WithJsonSchema,
)
from pydantic.alias_generators import to_camel

from gitbot.documents import Document, read_documents, schemas
from gitbot.documents.decoding import (
    Report,
    from_text,
    report_errors,
    report_nothing,
    value_at,
)
from gitbot.documents.envelope import envelope_is_known
from gitbot.documents.formats import (
    amount,
    branch_name,
    dns_label,
    duration,
    duration_or_zero,
    is_github_repository,
    repository_path,
    zone,
)
from gitbot.documents.positions import shown
from gitbot.model.findings import Finding, has_errors, sort_key
from gitbot.model.limits import Limits

API_VERSION = "placement.gitbot.dev/v1alpha1"
KIND = "Configuration"
DESCRIPTION = "The configuration of gitbot: .gitbot.yaml at the root of the repository."

_SECONDS = ("a duration as text", "write PT4H for four hours, P3D for three days")
Duration = Annotated[
    int,
    BeforeValidator(from_text(duration, *_SECONDS)),
    WithJsonSchema(schemas.POSITIVE_DURATION),
]
DurationOrZero = Annotated[
    int,
    BeforeValidator(from_text(duration_or_zero, *_SECONDS)),
    WithJsonSchema(schemas.DURATION),
]
Label = Annotated[str, AfterValidator(dns_label), WithJsonSchema(schemas.LABEL_NAME)]
Zone = Annotated[str, AfterValidator(zone), WithJsonSchema(schemas.ZONE)]
Words = Annotated[str, Field(min_length=1, max_length=1000)]
Branch = Annotated[
    str,
    AfterValidator(branch_name),
    Field(min_length=1, max_length=200),
    WithJsonSchema(schemas.BRANCH),
]
RepositoryPath = Annotated[
    str, AfterValidator(repository_path), Field(min_length=1), WithJsonSchema(schemas.PATH)
]
Share = Annotated[int, Field(ge=1, le=1000)]


def _bytes(value: Any) -> Any:
    return amount(value) if isinstance(value, str) else value


class Value(BaseModel):
    """The base of every configuration value: strict, frozen, no unknown field.

    A default that is such a value is made by `model_construct`: importing builds no validator.
    Their annotations are not postponed: pydantic would compile them at each start.
    """

    model_config = ConfigDict(
        strict=True,
        defer_build=True,
        extra="forbid",
        frozen=True,
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
    )


class LimitSettings(Value):
    """How many migrations may run at once. The KubeVirt CR's own limits bind as well."""

    parallel: Share = Field(default=5, description="Migrations at once in the whole cluster.")
    per_source_node: Share = Field(default=2, description="Migrations at once away from a node.")
    per_target_node: Share = Field(default=2, description="Migrations at once towards a node.")
    per_zone: Share = Field(default=4, description="Migrations at once that touch a zone.")
    reserve: int = Field(
        default=1, ge=0, le=1000, description="Slots of `parallel` left free for drains by others."
    )

    @property
    def value(self) -> Limits:
        """The same limits as the planner takes them."""
        return Limits(
            parallel=self.parallel,
            per_source_node=self.per_source_node,
            per_target_node=self.per_target_node,
            per_zone=self.per_zone,
            reserve=self.reserve,
        )


class ClusterSettings(Value):
    """One cluster. Its intents are below `intents/<name>/`."""

    name: Label = Field(description="Name of the cluster and of its folder below intents/.")
    context_name: Words | None = Field(
        default=None, alias="context", description="Kubeconfig context; default: the name."
    )
    time_zone: Zone | None = Field(
        default=None, description="IANA zone of schedules that name none; no default."
    )
    limits: LimitSettings = Field(
        default=LimitSettings.model_construct(), description="How many migrations may run at once."
    )

    @property
    def context(self) -> str:
        """The kubeconfig context."""
        return self.context_name or self.name


class ForgeSettings(Value):
    """Where pull requests live."""

    type: Literal["local", "github"] = Field(default="local", description="Kind of forge.")
    repository: Words = Field(
        default="origin",
        description="github: owner/name or origin; local: path or remote of a bare repository.",
    )
    base_branch: Branch = Field(default="main", description="Protected branch of the intents.")
    required_reviews: int | None = Field(
        default=None,
        ge=0,
        le=10,
        description="Approvals that a merge needs; default: what the branch's rules say.",
    )


class ProposalSettings(Value):
    """When and how often the bot proposes."""

    announce: DurationOrZero = Field(
        default=3 * 86_400, description="How long before a drain's lead its proposal opens."
    )
    stabilize: DurationOrZero = Field(
        default=900, description="How long a breach must stand before its healing is proposed."
    )
    max_open: Share = Field(default=10, description="Open pull requests of the bot at once.")
    per_vm_cooldown: DurationOrZero = Field(
        default=86_400, description="How long a VM that gitbot moved is left alone."
    )


class BreakerSettings(Value):
    """When gitbot stops by itself and asks a person; counts within a day, since the last resume."""

    failures: Share = Field(default=3, description="Failed moves.")
    unexpected_landings: Share = Field(default=1, description="Moves that landed elsewhere.")
    foreign_returns: Share = Field(default=2, description="VMs that somebody else moved back.")


class ManifestSettings(Value):
    """Where VM manifests live: a path here, or in another repository at a ref."""

    path: RepositoryPath = Field(description="Folder of VM manifests.")
    repository: Words | None = Field(default=None, description="Another repository; default here.")
    ref: Branch | None = Field(default=None, description="Branch or tag there.")


class Settings(Value):
    """The configuration; every default is in the reference."""

    clusters: tuple[ClusterSettings, ...] = Field(
        strict=False, min_length=1, description="The clusters whose placement is kept here."
    )
    forge: ForgeSettings = Field(
        default=ForgeSettings.model_construct(), description="Where pull requests live."
    )
    mode: Literal["Enforce", "Observe"] = Field(
        default="Enforce", description="Observe: plans and comments, applies nothing."
    )
    approval: Literal["Plan", "Intent"] = Field(
        default="Plan", description="What merging approves: the shown plan, or whatever follows."
    )
    allow_auto: bool = Field(
        default=False, description="Whether heal: Auto and returnHome: Auto are allowed."
    )
    publish_snapshot: bool = Field(
        default=True, description="Whether reconcile publishes the snapshot on its branch."
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

    def cluster(self, name: str) -> ClusterSettings | None:
        """The cluster of that name; None where it is not configured."""
        return next((cluster for cluster in self.clusters if cluster.name == name), None)


class _Metadata(Value):
    name: Label = Field(default="default", description="A name; nothing depends on it.")
    labels: dict[str, str] = Field(default_factory=dict, description="Free for your own use.")
    annotations: dict[str, str] = Field(default_factory=dict, description="Free for your own use.")


class _Configuration(Value):
    api_version: Literal["placement.gitbot.dev/v1alpha1"]
    kind: Literal["Configuration"]
    metadata: _Metadata = Field(
        default=_Metadata.model_construct(), description="Name, labels, annotations."
    )
    spec: Settings = Field(description="The configuration.")


@lru_cache(maxsize=1)
def json_schema() -> dict[str, Any]:
    """The JSON Schema of `.gitbot.yaml`."""
    schema = _Configuration.model_json_schema(by_alias=True)
    return schemas.dressed(schema, kind=KIND, description=DESCRIPTION)


def read_settings(data: bytes, file: str) -> tuple[Settings | None, tuple[Finding, ...]]:
    """The settings of a configuration file; None with at least one error where it is wrong."""
    documents, findings = read_documents(data, file)
    found = [*findings]
    settings: Settings | None = None
    for document in documents[:1]:
        settings, more = _read_document(document, file)
        found.extend(more)
    for document in documents[1:]:
        report = Report(document=document, file=file, room="settings")
        message = f"found document {document.index}, expected one document in {file}"
        report.at_key((), "one-document", message, "remove it")
        found.extend(report.findings)
    ordered = tuple(sorted(found, key=sort_key))
    return (None if has_errors(ordered) else settings), ordered


def _read_document(document: Document, file: str) -> tuple[Settings | None, list[Finding]]:
    report = Report(document=document, file=file, room="settings")
    if not envelope_is_known(report, API_VERSION, (KIND,)):
        return None, report.findings
    settings: Settings | None = None
    report_nothing(report, json_schema)
    try:
        settings = _Configuration.model_validate(
            document.value, by_alias=True, by_name=False, context={"file": file}
        ).spec
    except ValidationError as error:
        records = error.errors(include_url=False, include_input=False)
        report_errors(report, [dict(record) for record in records], json_schema)
    _github_repository(report, document.value)
    _clusters_once(report, document.value)
    return settings, report.findings


def _github_repository(report: Report, value: Mapping[str, Any]) -> None:
    """`owner/name`, or the default: whatever Actions or the remote origin names."""
    name = value_at(value, ("spec", "forge", "repository"))
    if value_at(value, ("spec", "forge", "type")) != "github" or not isinstance(name, str):
        return
    if name not in ("", "origin") and not is_github_repository(name):
        path, shape = ("spec", "forge", "repository"), "owner/name as on GitHub, or origin"
        report.at_value(path, "repository", f"found {shown(name)}, expected {shape}", "mend it")


def _clusters_once(report: Report, value: Mapping[str, Any]) -> None:
    clusters = value_at(value, ("spec", "clusters"))
    seen: dict[str, int] = {}
    for index, cluster in enumerate(clusters if isinstance(clusters, list) else []):
        name = cluster.get("name") if isinstance(cluster, dict) else None
        if not isinstance(name, str):
            continue
        path = ("spec", "clusters", index, "name")
        if name in seen:
            line = report.document.positions.value((*path[:2], seen[name], "name")).line
            message = f'found "{name}" again, expected every cluster once; it stands in line {line}'
            report.at_value(path, "duplicate", message, "rename or remove it")
        seen.setdefault(name, index)
