"""What a workflow works on: repository, ledger, forge and clusters, picked by the settings."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING

from gitbot.adapters.clock import SystemClock, seconds_counted
from gitbot.adapters.forges.local import at_address
from gitbot.adapters.forges.local.forge import LocalForge
from gitbot.adapters.git import (
    GitLedgerStore,
    GitRepository,
    address_of,
    author_of,
    ledger_name,
    no_access,
    read_signing_key,
)
from gitbot.adapters.health_gates import HealthGates
from gitbot.adapters.lazy_cluster import LazyCluster, LazyFollowedCluster
from gitbot.adapters.snapshot_cluster import PublishedCluster
from gitbot.adapters.webhooks import Webhooks, secret_of_calls
from gitbot.adapters.working_tree import (
    ShippedTexts,
    read_plain_file,
    read_working_tree,
    temporary_folder,
)
from gitbot.errors import InvalidInput, RepositoryError, UsageError
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.plan.diagnosis import Check, Outcome
from gitbot.model.progress import NO_PROGRESS, PlanningProgress
from gitbot.model.text.names import CONFIGURATION_FILE, OWN_AUTHOR
from gitbot.model.text.wording import counted
from gitbot.ports.clock import Clock
from gitbot.ports.cluster import Cluster
from gitbot.ports.forge import Forge
from gitbot.ports.ledger import LedgerStore
from gitbot.ports.repository import Repository
from gitbot.settings import Beside, Settings, read_settings
from gitbot.wiring.clusters import open_cluster, open_followed
from gitbot.wiring.forges import connect
from gitbot.wiring.report_store import report_keeper
from gitbot.workflows.core.beside import beside_at

if TYPE_CHECKING:
    from gitbot.adapters.forges.forge_type import Connection
    from gitbot.adapters.kubernetes import ClusterQuestions
    from gitbot.workflows.core.base_branch import BaseBranch
    from gitbot.workflows.core.context import Progress, RunContext
    from gitbot.workflows.core.revision import BundledTexts

OWN_NAME = (OWN_AUTHOR, "gitbot@placement.gitbot.dev")


@dataclass(frozen=True, slots=True, kw_only=True)
class Follow:
    """Clusters are listed once and then watched: `at_once`, or from the second look on.

    `say` is told what watching needs.
    """

    say: Callable[[str], None]
    at_once: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace:
    """The open ports and settings of a workflow.

    `settings` are those of `base`, the commit at the tip of the protected base branch; a working
    tree decides only where the forge is. `clusters` overrides what a name opens. With `follow`,
    clusters are listed once and then watched. `remote` is the repository's address for Git.
    """

    settings: Settings
    base: str
    repository: Repository
    forge: Forge
    ledger: LedgerStore
    clock: Clock
    kubeconfig: str = ""
    context: str = ""
    clusters: dict[str, Cluster] = field(default_factory=dict)
    rehearse_push: Callable[[str], None] = field(default=lambda _branch: None)
    remote: str
    follow: Follow | None = None

    @property
    def ledger_name(self) -> str:
        """What clusters call the ledger of this repository."""
        return ledger_name(self.remote)

    def cluster(self, name: str) -> Cluster:
        """The cluster of that name in the configuration, connected once, at its first use.

        Commands that need only the repository work without access to the cluster. Raises
        UsageError.
        """
        if name not in self.clusters:
            settings = self.settings.cluster(name)
            if settings is None:
                self.settings.check_read(name)
                known = ", ".join(self.settings.cluster_names)
                raise UsageError(f"there is no cluster {name} in the configuration: {known}")
            context = self.context or settings.context
            if (follow := self.follow) is not None:
                self.clusters[name] = LazyFollowedCluster(
                    name,
                    lambda: open_followed(
                        name=name,
                        kubeconfig=self.kubeconfig,
                        context=context,
                        load=settings.load,
                        say=follow.say,
                        at_once=follow.at_once,
                    ),
                )
                return self.clusters[name]
            self.clusters[name] = LazyCluster(
                name,
                lambda: open_cluster(
                    name=name, kubeconfig=self.kubeconfig, context=context, load=settings.load
                ),
            )
        return self.clusters[name]

    def buttons(self, number: int) -> LocalForge:
        """The forge to press buttons of, if it has no page of its own. Raises UsageError."""
        if isinstance(self.forge, LocalForge):
            return self.forge
        pull = self.forge.get_pull(number)
        raise UsageError("this forge has a page for that", hint=f"open {pull.url}")

    def close(self) -> None:
        """Close connections to clusters: a watch opens everything again after trouble."""
        for cluster in self.clusters.values():
            if isinstance(cluster, LazyCluster):
                cluster.close()

    def read_only(
        self,
        name: str,
        read: Callable[[], ClusterSnapshot],
        missing: Callable[[str, str], tuple[str, ...]] | None = None,
    ) -> None:
        """Use this snapshot instead of a cluster: nothing else is read, and nothing is written.

        The connection to that cluster is closed.
        """
        if isinstance(replaced := self.clusters.get(name), LazyCluster):
            replaced.close()
        self.clusters[name] = PublishedCluster(name, read, self.clock, missing)


def author_here() -> str:
    """The name under which a person commits in the current folder, or ""."""
    return author_of(Path.cwd())[0]


def repository_here(root: Path) -> Repository:
    return GitRepository.of_work_tree(root)


def shipped(label: str = "") -> BundledTexts:
    """What ships with gitbot; `label` stands before the paths of its policies in findings."""
    from gitbot.adapters.sandbox.policy_runner import the_runner  # noqa: PLC0415 - no CEL for `lint`
    from gitbot.workflows.core.revision import BundledTexts  # noqa: PLC0415 - no planner for `lint`

    texts = ShippedTexts()
    policies = {f"{label}{path}": text for path, text in texts.policies().items()}
    return BundledTexts(policies=policies, templates=texts.templates(), runner=the_runner())


def base_branch(repository: Repository, *, name: str, cluster: str) -> BaseBranch:
    from gitbot.workflows.core.base_branch import BaseBranch  # noqa: PLC0415 - no planner for `lint`

    return BaseBranch(repository=repository, name=name, cluster=cluster, shipped=shipped())


def open_shell(
    workspace: Workspace,
    cluster: str,
    *,
    progress: Callable[[Progress], None] | None = None,
    onlooker: PlanningProgress = NO_PROGRESS,
    at_hand: bool = False,
) -> RunContext:
    from gitbot.wiring import plan_worker  # noqa: PLC0415 - no planner for `lint`
    from gitbot.workflows.core.context import RunContext  # noqa: PLC0415 - no planner for `lint`
    from gitbot.workflows.ledger.anchor import missing_branch  # noqa: PLC0415 - as above
    from gitbot.workflows.ledger.guarded_store import GuardedLedgerStore  # noqa: PLC0415 - as above

    name = workspace.settings.forge.base_branch
    opened = workspace.cluster(cluster)
    own = workspace.settings.cluster(cluster)
    shell = RunContext(
        cluster_name=cluster,
        base_branch=name,
        repository=workspace.repository,
        forge=workspace.forge,
        ledger_store=workspace.ledger,
        cluster=opened,
        followed=opened if isinstance(opened, LazyFollowedCluster) else None,
        clock=workspace.clock,
        read_base=base_branch(workspace.repository, name=name, cluster=cluster).at,
        progress=progress,
        onlooker=onlooker,
        at_hand=at_hand,
        several=len(workspace.settings.cluster_names) > 1,
        keep_report=report_keeper(cluster),
        executor=token_hex(8),
        ledger_name=workspace.ledger_name,
        source=file_address(workspace.remote, workspace.forge.capabilities.files),
        seconds=seconds_counted,
        planning=plan_worker.plan_apart,
        reading=plan_worker.read_apart,
        plan_apart=plan_worker.plan_problem_apart,
        render=plan_worker.render_apart,
        clusters=workspace.settings.cluster_names,
        notifier=Webhooks(workspace.clock),
        health=HealthGates(),
        zone=(own.time_zone if own is not None else None) or "UTC",
    )
    guarded = GuardedLedgerStore(
        store=workspace.ledger, missing=lambda: missing_branch(shell), counts=shell.ledger_counts
    )
    return replace(shell, ledger_store=guarded)


@contextmanager
def cluster_here(kubeconfig: str, context: str) -> Iterator[Cluster]:
    """The cluster that is reached, under whatever name; its connections are closed at the end."""
    opener = partial(open_cluster, name="", kubeconfig=kubeconfig, context=context)
    with closing(LazyCluster("", opener)) as cluster:
        yield cluster


def cluster_of(
    settings: Settings, name: str, *, kubeconfig: str, context: str
) -> LazyCluster[Cluster]:
    """The cluster of that name in the configuration, for its caller to close."""
    named = settings.cluster(name)
    context = context or (named.context if named else name)
    opener = partial(open_cluster, name=name, kubeconfig=kubeconfig, context=context)
    return LazyCluster(name, opener)


def ledger_here(root: Path) -> str:
    """What clusters call the ledger of the forge that the working tree names."""
    return ledger_name(forge_here(root)[0].remote)


def post_notice(webhook: str, key: str, body: bytes) -> str:
    """What a webhook answered, in words. Raises NoticeError."""
    return Webhooks.post(webhook, key, body)


def webhook_secret() -> str:
    """What the forge signs its calls with; "" if nobody may call. Raises UsageError."""
    return secret_of_calls()


def cluster_questions(
    settings: Settings, name: str, *, kubeconfig: str, context: str
) -> ClusterQuestions:
    """What a diagnosis asks a cluster of the configuration. Raises ClusterError."""
    from gitbot.adapters.kubernetes import ClusterQuestions, Transport  # noqa: PLC0415 - heavy

    named = settings.cluster(name)
    context = context or (named.context if named else name)
    return ClusterQuestions(Transport(kubeconfig=kubeconfig, context=context))


def diagnose_forge(workspace: Workspace) -> tuple[Check, ...]:
    """The forge adapter's own checks; without any, only that the forge answers."""
    diagnose = getattr(workspace.forge, "diagnose", None)
    if diagnose is not None:
        return tuple(diagnose())
    pulls = counted(len(workspace.forge.list_pulls()), "pull request")
    message = f"the {workspace.settings.forge.type} forge answers: {pulls}"
    return (Check(name="forge/reach", outcome=Outcome.PASS, message=message),)


@contextmanager
def open_workspace(
    root: Path,
    *,
    kubeconfig: str = "",
    context: str = "",
    clock: Clock | None = None,
    clusters: dict[str, Cluster] | None = None,
    as_person: bool = False,
    forgiving: bool = False,
    copy: str = "",
    follow: Follow | None = None,
) -> Iterator[Workspace]:
    """Open the repository that `root` is a clone of, its forge and its ledger.

    `as_person` writes commits, and on a local forge pull requests, in the name that Git has for the
    person, else in gitbot's. `copy`: a repository to look at instead of the forge, without pull
    requests. `forgiving` takes the newest configuration without errors. Raises GitbotError.
    """
    clock = clock or SystemClock()
    here = _settings_despite(root) if forgiving else settings_here(root)
    forge = at_address(copy) if copy else connect(root, here.forge)
    with temporary_folder("mirror") as folder:
        base_branch = here.forge.base_branch
        name, email = _person(root) if as_person else OWN_NAME
        repository = GitRepository.clone(
            forge.remote,
            folder / "mirror.git",
            name=name,
            email=email,
            key=read_signing_key(os.environ),
            access=forge.access,
            only=(base_branch, "gitbot/*"),
        )
        base, settings = _protected(repository, base_branch, forge.remote, forgiving=forgiving)
        workspace = Workspace(
            settings=settings,
            base=base,
            repository=repository,
            forge=forge.forge(settings.forge.required_reviews, name, clock),
            ledger=GitLedgerStore(repository),
            clock=clock,
            kubeconfig=kubeconfig,
            context=context,
            clusters=clusters if clusters is not None else {},
            rehearse_push=repository.rehearse_push,
            remote=forge.remote,
            follow=follow,
        )
        with closing(workspace):
            yield workspace


def file_address(remote: str, files: str) -> str:
    """The address of files on the forge's page; "" without one."""
    has_page = files and remote.startswith(("https://", "http://"))
    return f"{remote.removesuffix('.git')}/{files}" if has_page else ""


def _person(root: Path) -> tuple[str, str]:
    name, email = author_of(root)
    if not (name and email):
        missing = "user.email" if name else "user.name"
        raise UsageError(
            f"Git does not know your {missing}", hint=f'git config --global {missing} "..."'
        )
    return name, email


def _protected(
    repository: Repository, branch: str, remote: str, *, forgiving: bool
) -> tuple[str, Settings]:
    """The tip of the base branch and the configuration there."""
    remote, _ = address_of(remote, no_access)  # without a token
    base = repository.resolve(branch)
    if base is None:
        raise RepositoryError(
            f"{remote} has no branch {branch}", hint="push it, or set forge.baseBranch"
        )
    data = repository.read_blob(base, CONFIGURATION_FILE)
    if data is None:
        raise UsageError(f"{branch} of {remote} has no {CONFIGURATION_FILE}")
    read = partial(_settings, data, beside_at(repository, base))
    return base, _newest_settings(repository, base, read, forgiving=forgiving)


def forge_here(root: Path) -> tuple[Connection, str]:
    """The forge, and its base branch. It opens no pull requests."""
    forge = _settings_despite(root).forge
    return connect(root, forge), forge.base_branch


def settings_here(root: Path) -> Settings:
    """The configuration in a work tree: where forge and clusters are, and nothing more.

    Raises UsageError and InvalidInput.
    """
    return _settings_in(root)()


def _settings_despite(root: Path) -> Settings:
    """As `settings_here`, else the newest committed configuration without errors."""
    return _newest_settings(repository_here(root), "HEAD", _settings_in(root), forgiving=True)


def _settings_in(root: Path) -> Callable[[], Settings]:
    """Reads the configuration of a work tree. A pod may have `.gitbot.yaml` alone."""
    data = read_plain_file(root / CONFIGURATION_FILE, CONFIGURATION_FILE)

    def beside(folder: str) -> Mapping[str, bytes] | None:
        return read_working_tree(root, folder) if (root / folder).exists() else None

    return partial(_settings, data, beside)


def _newest_settings(
    repository: Repository, rev: str, read: Callable[[], Settings], *, forgiving: bool
) -> Settings:
    """The configuration that `read` gives. If `forgiving` and it has errors, the newest without."""
    try:
        return read()
    except InvalidInput:
        if not forgiving or repository.resolve(rev) is None:
            raise
        from gitbot.workflows.core.base_branch import newest_readable  # noqa: PLC0415 - as above

        def at(commit: str) -> Settings:
            data = repository.read_blob(commit, CONFIGURATION_FILE) or b""
            return _settings(data, beside_at(repository, commit))

        older = newest_readable(repository, rev, at)
        if older is None:
            raise
        return older[1]


def _settings(data: bytes, beside: Beside) -> Settings:
    settings, findings = read_settings(data, CONFIGURATION_FILE, beside)
    if settings is None:
        raise InvalidInput("\n".join(str(finding) for finding in findings))
    return settings
