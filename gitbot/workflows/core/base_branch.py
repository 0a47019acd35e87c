"""The protected base branch: each commit is read once and cached by its id."""

from __future__ import annotations

from gitbot.errors import InvalidInput, UsageError
from gitbot.intents import stops
from gitbot.model.text.names import CONFIGURATION_FILE
from gitbot.ports.repository import Repository
from gitbot.workflows.core.revision import INTENTS, BundledTexts, Revision, read_revision, texts_at
from gitbot.workflows.core.revision_engine import RevisionEngine

_KEPT = 3  # commits beside the newest, as the base branch moves on


class BaseBranch:
    """What the commits of the base branch say about one cluster."""

    def __init__(
        self, *, repository: Repository, name: str, cluster: str, shipped: BundledTexts
    ) -> None:
        self._repository = repository
        self._name = name
        self._cluster = cluster
        self._shipped = shipped
        self._known: dict[str, RevisionEngine] = {}

    def at(self, commit: str) -> RevisionEngine:
        """The engine of a commit of the base branch. Raises InvalidInput if it has an error."""
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
        read = read_revision(texts, cluster=self._cluster, shipped=self._shipped)
        findings = read.findings if isinstance(read, Revision) else read
        errors = [item for item in findings if stops(item)]
        if not isinstance(read, Revision) or errors:
            raise InvalidInput("\n".join(str(finding) for finding in errors))
        return RevisionEngine(revision=read, introduced=lambda path: self._introduced(path, commit))

    def _introduced(self, path: str, commit: str) -> str:
        return self._repository.introduced_by(self._name, path) or commit
