"""Settings to adapters or simulator to workflows: the only place that picks implementations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from gitbot.adapters.clock import SystemClock
from gitbot.adapters.files import CONFIGURATION_FILE, ShippedTexts, read_plain_file
from gitbot.adapters.git.ledger import GitLedgerStore
from gitbot.adapters.git.process import Git, check_ref, no_access
from gitbot.adapters.git.repository import GitRepository
from gitbot.adapters.temporary import temporary_folder
from gitbot.constraints.replay import replay
from gitbot.errors import InvalidInput, RepositoryError, UsageError
from gitbot.model.diagnosis import Check, Health
from gitbot.ports.clock import Clock
from gitbot.ports.cluster import Cluster
from gitbot.ports.forge import Forge
from gitbot.ports.ledger import LedgerStore
from gitbot.ports.repository import Repository
from gitbot.reports.diff import counted
from gitbot.settings import ForgeSettings, Settings, read_settings
from gitbot.workflows.base import read_base
from gitbot.workflows.shell import Progress, Shell, silent

if TYPE_CHECKING:
    from gitbot.adapters.forges.github.opening import GitHub
    from gitbot.adapters.kubernetes.diagnosis import ClusterQuestions


class LateCluster:
    """The port of a cluster that is opened when it is asked something for the first time.

    The first question raises ClusterError where kubeconfig and context lead to no cluster.
    """

    def __init__(self, name: str, opener: Callable[[], Cluster]) -> None:
        self.name = name
        self._opener = opener
        self._opened: Cluster | None = None

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("_"):
            raise AttributeError(attribute)
        if self._opened is None:
            self._opened = self._opener()
        return getattr(self._opened, attribute)


def _no_rehearsal(branch: str) -> None:
    """A repository without a remote refuses no push."""
    del branch


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace:
    """Everything that a workflow asks for, opened.

    `settings` are those of `base`, the commit at the tip of the protected base branch; a working
    tree decides nothing but where the forge is. `clusters` overrides what a name opens.
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
    rehearse_push: Callable[[str], None] = field(default=_no_rehearsal)

    def cluster(self, name: str) -> Cluster:
        """The cluster of that name in the configuration, connected once, at its first use.

        What needs only the repository works without any way to the cluster. Raises UsageError.
        """
        if name not in self.clusters:
            settings = self.settings.cluster(name)
            if settings is None:
                known = ", ".join(cluster.name for cluster in self.settings.clusters)
                raise UsageError(f"there is no cluster {name} in the configuration: {known}")
            context = self.context or settings.context
            late = LateCluster(
                name,
                lambda: open_cluster(name=name, kubeconfig=self.kubeconfig, context=context),
            )
            self.clusters[name] = cast("Cluster", late)
        return self.clusters[name]


def open_shell(
    workspace: Workspace, cluster: str, *, progress: Callable[[Progress], None] = silent
) -> Shell:
    """Everything that the workflows of one cluster work with."""
    base_branch = workspace.settings.forge.base_branch
    texts = ShippedTexts()
    return Shell(
        cluster_name=cluster,
        base_branch=base_branch,
        repository=workspace.repository,
        forge=workspace.forge,
        ledger_store=workspace.ledger,
        cluster=workspace.cluster(cluster),
        clock=workspace.clock,
        templates=texts,
        read_base=lambda commit: read_base(
            repository=workspace.repository,
            commit=commit,
            base_branch=base_branch,
            cluster=cluster,
            texts=texts,
            replay=replay,
            now=workspace.clock.now,
        ),
        progress=progress,
        several=len(workspace.settings.clusters) > 1,
    )


def open_cluster(*, name: str, kubeconfig: str = "", context: str = "") -> Cluster:
    """A cluster of a kubeconfig ("" for kubectl's defaults)."""
    from gitbot.adapters.kubernetes.cluster import (  # noqa: PLC0415 - the client is heavy
        KubernetesCluster,
    )

    return KubernetesCluster(context=context, kubeconfig=kubeconfig, name=name)


def cluster_questions(
    settings: Settings, name: str, *, kubeconfig: str, context: str
) -> ClusterQuestions:
    """What a diagnosis asks a cluster of the configuration. Raises ClusterError."""
    from gitbot.adapters.kubernetes.diagnosis import (  # noqa: PLC0415 - the client is heavy
        ClusterQuestions,
    )
    from gitbot.adapters.kubernetes.transport import Transport  # noqa: PLC0415

    named = settings.cluster(name)
    context = context or (named.context if named else name)
    return ClusterQuestions(Transport(kubeconfig=kubeconfig, context=context))


def diagnose_forge(workspace: Workspace) -> tuple[Check, ...]:
    """What the forge's adapter finds out about itself; that it answers, where it has no more."""
    diagnose = getattr(workspace.forge, "diagnose", None)
    if diagnose is not None:
        return tuple(diagnose())
    pulls = counted(len(workspace.forge.list_pulls()), "pull request")
    message = f"the {workspace.settings.forge.type} forge answers: {pulls}"
    return (Check(name="forge/reach", outcome=Health.PASS, message=message),)


@contextmanager
def open_workspace(
    root: Path,
    *,
    kubeconfig: str = "",
    context: str = "",
    clock: Clock | None = None,
    clusters: dict[str, Cluster] | None = None,
    account: str = "gitbot",
) -> Iterator[Workspace]:
    """Open the repository that `root` is a clone of, its forge and its ledger.

    The private mirror behind it is thrown away at the end. Raises UsageError, RepositoryError and
    InvalidInput (a configuration with errors).
    """
    clock = clock or SystemClock()
    here = settings_here(root)
    github = _github(root, here.forge)
    remote = github.remote if github else _remote(root, here.forge)
    with temporary_folder("mirror") as folder:
        repository = GitRepository.clone(
            remote, folder / "mirror.git", access=github.access if github else no_access
        )
        base_branch = here.forge.base_branch
        base = repository.resolve(base_branch)
        if base is None:
            raise RepositoryError(
                f"{remote} has no branch {base_branch}", hint="push it, or set forge.baseBranch"
            )
        data = repository.read_blob(base, CONFIGURATION_FILE)
        if data is None:
            raise UsageError(f"{base_branch} of {remote} has no {CONFIGURATION_FILE}")
        settings = _settings(data)
        if github:
            github.forge.require_reviews(settings.forge.required_reviews)
        yield Workspace(
            settings=settings,
            base=base,
            repository=repository,
            forge=github.forge if github else _local_forge(remote, clock, account),
            ledger=GitLedgerStore(repository),
            clock=clock,
            kubeconfig=kubeconfig,
            context=context,
            clusters=clusters if clusters is not None else {},
            rehearse_push=repository.rehearse_push,
        )


def settings_here(root: Path) -> Settings:
    """The configuration in a work tree: where forge and clusters are, and nothing more.

    Raises UsageError and InvalidInput.
    """
    return _settings(read_plain_file(root / CONFIGURATION_FILE, CONFIGURATION_FILE))


def _settings(data: bytes) -> Settings:
    settings, findings = read_settings(data, CONFIGURATION_FILE)
    if settings is None:
        raise InvalidInput("\n".join(str(finding) for finding in findings))
    return settings


def _remote(root: Path, forge: ForgeSettings) -> str:
    """Where the intents repository is: a path as written, or the address of a remote's name."""
    named = forge.repository
    if "/" in named or (root / named).is_dir():
        return str((root / named).resolve())
    name = check_ref(named)
    address = _address(root, name)
    if not address and Git(root).attempt(["rev-parse", "--git-dir"])[0] != 0:
        raise UsageError(
            f"{root} is no Git repository",
            hint="run gitbot in a clone of the intents repository, or make it one: `git init`, "
            f"commit, add the remote {name}, push",
        )
    if not address:
        raise UsageError(
            f"{root} has no remote {name}",
            hint="run gitbot in a clone of the intents repository, or set forge.repository",
        )
    return str((root / address).resolve()) if (root / address).exists() else address


def _address(root: Path, name: str) -> str:
    """The address of a remote of the work tree; "" where there is none."""
    code, address = Git(root).attempt(["config", "--get", f"remote.{name}.url"])
    return address if code == 0 else ""


def _local_forge(remote: str, clock: Clock, account: str) -> Forge:
    from gitbot.adapters.forges.local import LocalForge  # noqa: PLC0415 - one forge a run

    directory = Path(remote)
    inner = directory / ".git"
    return LocalForge(inner if inner.is_dir() else directory, clock=clock, account=account)


def _github(root: Path, forge: ForgeSettings) -> GitHub | None:
    """GitHub with the credentials of the environment; None where the forge is another one.

    What waits for GitHub waits in real time, whatever the clock of the run says.
    """
    if forge.type != "github":
        return None
    from gitbot.adapters.forges.github.opening import open_github  # noqa: PLC0415 - one forge a run

    return open_github(
        named=forge.repository,
        origin=_address(root, "origin"),
        base_branch=forge.base_branch,
        clock=SystemClock(),
    )
