"""The protected base branch: each commit is read once and cached by its id."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from gitbot.errors import InvalidInput, UsageError
from gitbot.intents import stops
from gitbot.model.text.names import CONFIGURATION_FILE
from gitbot.ports.repository import Repository
from gitbot.workflows.core.broken_files import BrokenFile
from gitbot.workflows.core.context import RunContext, base_head
from gitbot.workflows.core.folder_reading import read_by_folder
from gitbot.workflows.core.revision import (
    INTENTS,
    BundledTexts,
    Revision,
    read_change,
    read_revision,
    texts_at,
)
from gitbot.workflows.core.revision_engine import RevisionEngine

_KEPT = 3  # commits beside the newest, as the base branch moves on
_COMMITS_BACK = 50  # how far to search for a commit without errors

T = TypeVar("T")


class BaseBranch:
    """The intents and settings of commits of the base branch, for one cluster."""

    def __init__(
        self, *, repository: Repository, name: str, cluster: str, shipped: BundledTexts
    ) -> None:
        self._repository = repository
        self._name = name
        self._cluster = cluster
        self._shipped = shipped
        self._known: dict[str, RevisionEngine] = {}

    def at(self, commit: str) -> RevisionEngine:
        """The engine of a commit of the base branch.

        Raises InvalidInput if it has an error that stops everything; see `read_by_folder`.
        """
        if commit not in self._known:
            self._known = {**dict(list(self._known.items())[-_KEPT:]), commit: self._read(commit)}
        return self._known[commit]

    def _read(self, commit: str) -> RevisionEngine:
        folder = f"{INTENTS}{self._cluster}/"
        texts = texts_at(self._repository, commit, commit=commit, intents=folder)
        if CONFIGURATION_FILE not in texts.files:
            raise UsageError(
                f"{self._name} has no {CONFIGURATION_FILE}", hint="`gitbot init` writes one"
            )
        reading = partial(read_revision, cluster=self._cluster, shipped=self._shipped)
        read = read_by_folder(self._repository, texts, reading)
        findings = read.findings if isinstance(read, Revision) else read
        errors = [item for item in findings if stops(item)]
        if not isinstance(read, Revision) or errors:
            raise InvalidInput("\n".join(str(finding) for finding in errors))
        return RevisionEngine(revision=read, introduced=lambda path: self._introduced(path, commit))

    def _introduced(self, path: str, commit: str) -> str:
        return self._repository.introduced_by(self._name, path) or commit


def read_head(shell: RunContext, head: str, base: Revision) -> Revision:
    """The base with the intents of a head that nobody has reviewed; the process with limits reads.

    Raises LimitExceeded, and RepositoryError if Git cannot read it.
    """
    folder = f"{INTENTS}{shell.cluster_name}/"
    texts = texts_at(shell.repository, head, commit=head, intents=folder)
    return (shell.reading or read_change)(texts, base)


def newest_readable(
    repository: Repository, rev: str, read: Callable[[str], T]
) -> tuple[str, T] | None:
    """The newest commit from `rev` back that `read` accepts, and what it returned for it.

    `read` raises InvalidInput for a commit with errors. None if the newest 50 all have errors.
    """
    for commit in repository.log(rev, limit=_COMMITS_BACK):
        try:
            return commit.id, read(commit.id)
        except InvalidInput:
            continue
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadableBase:
    """The files of the newest commit without errors, as if they stood at the tip.

    `broken` are the errors of the tip itself, `commit` is the commit of the files.
    """

    engine: RevisionEngine
    commit: str
    broken: InvalidInput | None = None


def readable_base(shell: RunContext, head: str = "") -> ReadableBase:
    """The base branch at its tip `head`, "" to ask for it.

    Raises InvalidInput if none of its newest commits can be read.
    """
    head = head or base_head(shell)
    try:
        return ReadableBase(engine=shell.read_base(head), commit=head)
    except InvalidInput as error:
        found = newest_readable(shell.repository, head, shell.read_base)
        if found is None:
            raise
        commit, engine = found
        # what gitbot records names the tip: the commit whose merge brought the run here
        at_tip = replace(engine, revision=replace(engine.revision, commit=head))
        return ReadableBase(engine=at_tip, commit=commit, broken=error)


def broken_files(shell: RunContext) -> tuple[BrokenFile, ...]:
    """The files that stop their folders; none if everything waits for errors."""
    try:
        return shell.read_base(base_head(shell)).revision.broken
    except (InvalidInput, UsageError):
        return ()
