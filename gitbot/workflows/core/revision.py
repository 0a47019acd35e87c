"""Revision: the content of a commit or a working tree, read once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from gitbot.intents import UNKNOWN_WINDOW, IntentSet, is_below, read_intents
from gitbot.kubernetes.objects import labels_of, name_of
from gitbot.model.caches import IdentityCache
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.cluster.scheduler_profile import SchedulerProfiles
from gitbot.model.ledger.ledger import Ledger
from gitbot.model.plan.findings import Finding, Severity, sort_key
from gitbot.model.text.names import CONFIGURATION_FILE
from gitbot.policy import PolicyRunner, PolicySet, misdirected, pack_of, read_policies
from gitbot.ports.repository import Repository
from gitbot.settings import Beside, Settings, among, read_settings
from gitbot.workflows.core.beside import beside_at
from gitbot.workflows.core.broken_files import BrokenFile, FolderStops, repaired

INTENTS = "intents/"
POLICIES = "policies/"
_scheduled = IdentityCache(ClusterSnapshot.with_profiles, most=2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Texts:
    """The files of a place that gitbot reads, by path. `commit` is "" for a working tree."""

    files: Mapping[str, bytes]
    commit: str = ""

    @property
    def configuration(self) -> bytes:
        """`.gitbot.yaml`; empty if missing, which `read_revision` reports."""
        return self.files.get(CONFIGURATION_FILE, b"")

    @property
    def policies(self) -> dict[str, str]:
        return {
            path: data.decode("utf-8", "replace")
            for path, data in self.files.items()
            if path.startswith(POLICIES) and path.endswith(".yaml")
        }

    def intents(self, cluster: str) -> dict[str, bytes]:
        return {path: data for path, data in self.files.items() if is_below(path, cluster)}

    def changed_since(self, before: Texts) -> tuple[str, ...]:
        """Paths whose content differs, or that only one of both has."""
        paths = sorted({*before.files, *self.files})
        return tuple(path for path in paths if before.files.get(path) != self.files.get(path))


@dataclass(frozen=True, slots=True, kw_only=True)
class BundledTexts:
    """The texts that ship with gitbot: policies and templates, by path.

    `runner` runs the policies that do not ship with it; None: this process.
    """

    policies: Mapping[str, str]
    templates: Mapping[str, str]
    runner: PolicyRunner | None = None

    def in_force(self, settings: Settings) -> dict[str, str]:
        """The policies of the packs that the configuration names."""
        return {
            path: text for path, text in self.policies.items() if pack_of(path) in settings.packs
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """One commit's intents, settings and policies for one cluster. All findings are sorted.

    `trusted_findings` are those about configuration and policies, `findings` all. `profiles` are
    those of the cluster's kube-scheduler, if the configuration names a file with them. `broken` are
    files of the base branch that stop their folders; their last valid intents are among `intents`.
    """

    cluster: str
    commit: str
    settings: Settings
    intents: IntentSet
    policies: PolicySet
    shipped: BundledTexts
    trusted_findings: tuple[Finding, ...]
    findings: tuple[Finding, ...]
    profiles: SchedulerProfiles | None = None
    broken: tuple[BrokenFile, ...] = ()

    def scheduled(self, snapshot: ClusterSnapshot) -> ClusterSnapshot:
        """The snapshot under the configured profiles, unless a file was given with it."""
        if self.profiles is None or snapshot.profiles is not None:
            return snapshot
        return _scheduled(snapshot, self.profiles)

    def stops(self, snapshot: ClusterSnapshot) -> FolderStops | None:
        """What the broken files stop; None without one."""
        if not self.broken:
            return None
        labels = {name_of(node).name: labels_of(node) for node in snapshot.of("Node")}
        return FolderStops(broken=self.broken, intents=self.intents, labels=labels)

    def has_broken(self, file: str) -> bool:
        return any(item.path == file for item in self.broken)

    @property
    def zone(self) -> str | None:
        """The time zone of schedules without one."""
        found = self.settings.cluster(self.cluster)
        return found.time_zone if found is not None else None

    def remembering(self, ledger: Ledger) -> Revision:
        """The revision with the policies that people have overridden, for each plan."""
        overrides = ledger.overrides(self.cluster)
        if overrides == self.policies.overrides:
            return self
        return replace(self, policies=replace(self.policies, overrides=overrides))

    def finding(self, more: Iterable[Finding]) -> Revision:
        """The revision with findings about files of it that it does not hold."""
        return replace(self, findings=_sorted(self.findings, more))

    @property
    def templates(self) -> Mapping[str, str]:
        return self.shipped.templates


def texts_at(
    repository: Repository,
    tree: str,
    *,
    commit: str,
    intents: str = INTENTS,
    folders: Iterable[str] = (),
) -> Texts:
    """The files of a commit or tree: configuration, intents, policies, and these folders.

    The configuration includes the files that it names: those of clusters, and scheduler_config.

    It never reads other files of a repository (scripts, links). `intents` is the folder of the
    intents.
    """
    files: dict[str, bytes] = {}
    for prefix in (intents, POLICIES, *(f"{folder.rstrip('/')}/" for folder in folders)):
        files |= repository.read_tree(tree, prefix)
    configuration = repository.read_blob(tree, CONFIGURATION_FILE)
    if configuration is not None:
        read = partial(repository.read_blob, tree)
        files |= configuration_files(configuration, beside_at(repository, tree), read)
    return Texts(files=files, commit=commit)


def configuration_files(
    configuration: bytes, beside: Beside, read: Callable[[str], bytes | None]
) -> dict[str, bytes]:
    """`.gitbot.yaml` and the files that it names: of clusters, and of kube-schedulers."""
    files = {CONFIGURATION_FILE: configuration}
    if b"clustersFrom" not in configuration and b"schedulerConfig" not in configuration:
        return files

    def keep(folder: str) -> Mapping[str, bytes] | None:
        found = beside(folder)
        files.update(found or {})
        return found

    settings, _ = read_settings(configuration, CONFIGURATION_FILE, keep)
    for path in settings.scheduler_files if settings is not None else ():
        if (found := read(path)) is not None:
            files[path] = found
    return files


def scheduler_profiles(
    files: Mapping[str, bytes], settings: Settings | None, cluster: str
) -> tuple[SchedulerProfiles | None, tuple[Finding, ...]]:
    """What the file says that the configuration names for a cluster; None without one."""
    configured = settings.cluster(cluster) if settings is not None else None
    path = configured.scheduler_config if configured is not None else None
    if path is None:
        return None, ()
    from gitbot.constraints.scheduler.profiles import (  # noqa: PLC0415 - numpy where used
        UnreadProfiles,
        read_profiles,
    )

    try:
        if path not in files:
            raise UnreadProfiles(path, 0, "found no such file, expected that of schedulerConfig")
        return read_profiles(path, files[path]), ()
    except UnreadProfiles as error:
        finding = Finding(
            code="settings/scheduler-config",
            severity=Severity.ERROR,
            message=error.detail,
            file=path,
            line=error.line,
            hint=error.hint,
        )
        return None, (finding,)


def read_revision(
    texts: Texts, *, cluster: str | Callable[[Settings], str], shipped: BundledTexts
) -> Revision | tuple[Finding, ...]:
    """Read everything; returns only the findings if the configuration has errors.

    `cluster` may be a choice among those of the configuration.
    """
    settings, found = read_settings(texts.configuration, CONFIGURATION_FILE, among(texts.files))
    if settings is None:
        return found
    name = cluster if isinstance(cluster, str) else cluster(settings)
    if settings.errors_of(name):
        return found
    found = tuple(map(_of_others, found))
    policies, of_policies = read_policies(
        shipped.in_force(settings), texts.policies, runner=shipped.runner
    )
    profiles, of_profiles = scheduler_profiles(texts.files, settings, name)
    more = (*of_policies, *misdirected(policies, texts.configuration), *of_profiles)
    intents, of_intents = read_intents(texts.intents(name), settings, name)
    return Revision(
        cluster=name,
        commit=texts.commit,
        settings=settings,
        intents=intents,
        policies=policies,
        shipped=shipped,
        trusted_findings=_sorted(found, more),
        findings=_sorted(found, more, of_intents),
        profiles=profiles,
    )


def read_change(texts: Texts, base: Revision) -> Revision:
    """The result of merging these texts into a base: new intents under the base's settings.

    Their configuration and policies are checked, but only the base's apply. A broken file of the
    base that they do not change stays what it is there.
    """
    known = [item for item in base.broken if texts.files.get(item.path) == item.text]
    texts = replace(texts, files=repaired(texts.files, known))
    beside = among(texts.files)
    settings, of_settings = read_settings(texts.configuration, CONFIGURATION_FILE, beside)
    # an error that the base has too is that of another change
    same = {item for item in of_settings if _of_others(item) in base.trusted_findings}
    of_settings = tuple(_of_others(item) if item in same else item for item in of_settings)
    _, of_profiles = scheduler_profiles(texts.files, settings, base.cluster)
    changed, of_policies = read_policies(
        base.shipped.in_force(base.settings), texts.policies, runner=base.shipped.runner
    )
    of_policies = (*of_policies, *misdirected(changed, b""))
    intents, found = read_intents(texts.intents(base.cluster), base.settings, base.cluster)
    left = {item.path for item in known}
    of_intents = [item for item in found if item.file not in left or item.code != UNKNOWN_WINDOW]
    trusted = _sorted(base.trusted_findings, of_settings, of_policies, of_profiles)
    return replace(
        base,
        commit=texts.commit,
        intents=intents,
        trusted_findings=trusted,
        findings=_sorted(trusted, of_intents),
        broken=tuple(known),
    )


def _of_others(finding: Finding) -> Finding:
    """An error in the file of another cluster, which stops that cluster alone."""
    error = finding.severity is Severity.ERROR
    return replace(finding, severity=Severity.WARNING) if error else finding


def _sorted(*findings: Iterable[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(set().union(*findings), key=sort_key))
