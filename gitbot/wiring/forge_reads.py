"""What the forge holds right now: its ledger and the tip of its base branch, for questions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gitbot.adapters.git import Git, GitRepository, copy_fetched, fetch_tips, read_ledger
from gitbot.adapters.working_tree import temporary_folder
from gitbot.errors import Bug, GitbotError, LedgerError, UsageError
from gitbot.model.ledger.ledger import Ledger
from gitbot.ports.repository import Repository
from gitbot.wiring.workspace import forge_here, repository_here, settings_here

_OF_CLONE = ("gitbot/ledger", "origin/gitbot/ledger")


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgeTips:
    """A ledger to answer questions on. `base` is the tip of the forge's base branch, or "".

    `stale` says why the ledger is not the forge's, "" if it is. `absent` says why there is no forge
    yet: then nobody knows what has run.
    """

    ledger: Ledger
    base_branch: str = ""
    base: str = ""
    stale: str = ""
    absent: str = ""


def ask_forge(root: Path) -> ForgeTips:
    """The forge's ledger in one fetch; if that fails, the newest that the clone has.

    Raises LedgerError if the ledger is damaged.
    """
    try:
        forge, branch = forge_here(root)
        with temporary_folder("asked") as folder:
            tips = fetch_tips(
                forge.remote,
                folder / "tips.git",
                branches=(branch, "gitbot/ledger*"),
                access=forge.access,
            )
            ledger = read_ledger(tips, "gitbot/ledger")
            return ForgeTips(ledger=ledger, base_branch=branch, base=tips.resolve(branch) or "")
    except (Bug, LedgerError):
        raise
    except GitbotError as error:
        ledger = ledger_of_clone(repository_here(root))
        no_forge = isinstance(error, UsageError) and not ledger.events  # there is none yet
        why = error.message
        return ForgeTips(
            ledger=ledger, stale="" if no_forge else why, absent=why if no_forge else ""
        )


def is_behind(root: Path, tips: ForgeTips) -> bool:
    """Whether what is checked out at `root` lacks commits of the forge's base branch."""
    git = Git.of_work_tree(root)
    if not tips.base or git.attempt(["rev-parse", "--verify", "-q", "HEAD"])[0]:
        return False
    return git.attempt(["merge-base", "--is-ancestor", tips.base, "HEAD"])[0] != 0


@contextmanager
def at_forge(root: Path, *branches: str) -> Iterator[tuple[Repository | None, str]]:
    """Branches of the forge to read, in one fetch; None and why if it does not answer."""
    with temporary_folder("asked") as folder:
        tips, stale = None, ""
        try:
            forge, _ = forge_here(root)
            directory = folder / "tips.git"
            tips = fetch_tips(forge.remote, directory, branches=branches, access=forge.access)
        except Bug:
            raise
        except GitbotError as error:
            stale = error.message
        yield tips, stale


@contextmanager
def fetched_now(root: Path) -> Iterator[str]:
    """A repository with the forge's base branch and gitbot's own branches, fetched by Git alone.

    Raises RepositoryError and ForgeError.
    """
    forge, branch = forge_here(root)
    with temporary_folder("asked") as folder:
        directory = folder / "fetched.git"
        only = (branch, "gitbot/*")
        GitRepository.clone(forge.remote, directory, access=forge.access, only=only)
        yield str(directory)


@contextmanager
def last_fetched(root: Path) -> Iterator[str]:
    """A repository with the branches that the clone at `root` last fetched from the forge."""
    named = settings_here(root).forge.repository
    with temporary_folder("clone") as folder:
        directory = folder / "fetched.git"
        copy_fetched(root, "origin" if "/" in named else named, directory)
        yield str(directory)


def revisions_here(root: Path) -> list[str]:
    """The branches and tags that a person may have meant."""
    code, found = Git.of_work_tree(root).attempt(["for-each-ref", "--format=%(refname:short)"])
    return found.splitlines() if code == 0 else []


def ledger_of_clone(repository: Repository) -> Ledger:
    """The ledger as the clone last fetched it; an empty one if it never did."""
    for branch in _OF_CLONE:
        if repository.resolve(branch) is not None:
            return read_ledger(repository, branch)
    return Ledger()
