"""Reads a base branch with errors so that a broken file stops only its folder, if `owners` bind it.

Of several files with one identity each is broken: no reader can know which of them is meant. But a
file that may act everywhere keeps what single namespaces took from it, or got beside it.

In doubt everything waits: for errors of configuration or policies, files that no entry of `owners`
binds to single namespaces, last valid texts that clash with others, files that a change of the
configuration made invalid, and new files whose commit also removed files (their rules may have
moved).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from gitbot.intents import (
    DUPLICATE_IDENTITY,
    UNKNOWN_WINDOW,
    Intent,
    is_proposal_file,
    owner_of,
    read_intents,
    stops,
)
from gitbot.model.grouping import grouped
from gitbot.model.plan.findings import Finding, Severity
from gitbot.model.text.names import CONFIGURATION_FILE
from gitbot.ports.repository import Commit, Repository
from gitbot.settings import OwnerSettings, Settings, read_settings
from gitbot.workflows.core.beside import beside_at
from gitbot.workflows.core.broken_files import BrokenFile, repaired
from gitbot.workflows.core.revision import INTENTS, Revision, Texts

_CHANGES = 50  # of a file, among which its last valid text must be
_FILES = 20  # more of them stop everything: reading their histories takes time

Read = Callable[[Texts], Revision | tuple[Finding, ...]]


def read_by_folder(
    repository: Repository, texts: Texts, read: Read
) -> Revision | tuple[Finding, ...]:
    """As `read`, with the last valid text in place of each broken file.

    If everything must wait, it is what `read` returned, with the errors among its findings.
    """
    found = read(texts)
    if not isinstance(found, Revision) or not any(map(stops, found.findings)):
        return found
    return _repaired(repository, texts, found, read) or found


def read_as_on(
    repository: Repository, branch: str, texts: Texts, read: Read
) -> Revision | tuple[Finding, ...]:
    """As `read_by_folder`, for texts beside a branch: only errors that it has stop a folder."""
    found = read(texts)
    tip = repository.resolve(f"origin/{branch}") or repository.resolve(branch)
    if tip is None:
        return found
    by_folder = read_by_folder(repository, replace(texts, commit=tip), read)
    broken = by_folder.broken if isinstance(by_folder, Revision) else ()
    if not isinstance(by_folder, Revision) or any(
        repository.read_blob(tip, item.path) != item.text for item in broken
    ):
        return found
    return replace(by_folder, commit=texts.commit) if broken else found


def _repaired(
    repository: Repository, texts: Texts, revision: Revision, read: Read
) -> Revision | None:
    if not revision.settings.owners or any(map(stops, revision.trusted_findings)):
        return None
    history = _History(repository=repository, texts=texts, revision=revision)
    broken: dict[str, BrokenFile] = {}
    while errors := _errors(revision, broken):
        clashes = tuple(_clashes(texts.files, revision, errors))
        errors = grouped((*_each(errors), *((item.file, item) for item in clashes)))
        rivals = frozenset(errors if clashes else ())
        errors = {path: found for path, found in errors.items() if not history.keeps(path, rivals)}
        if len(broken) + len(errors) > _FILES:
            return None
        for path, found in errors.items():
            item = history.broken_file(path, found, rivals=rivals)
            if path in broken or item is None:
                return None
            broken[path] = item
        again = read(replace(texts, files=repaired(texts.files, broken.values())))
        if not isinstance(again, Revision):
            return None
        revision = again
    return replace(
        revision,
        broken=tuple(item for _, item in sorted(broken.items())),
        findings=tuple(item for item in revision.findings if not stops(item)),
    )


def _errors(revision: Revision, broken: Iterable[str]) -> Mapping[str, tuple[Finding, ...]]:
    """What stops, by file. A broken file may name a window that is gone: none of it starts."""
    known = frozenset(broken)
    return grouped(
        (item.file, item)
        for item in revision.findings
        if stops(item) and not (item.file in known and item.code == UNKNOWN_WINDOW)
    )


def _each(errors: Mapping[str, tuple[Finding, ...]]) -> Iterator[tuple[str, Finding]]:
    return ((path, item) for path, found in errors.items() for item in found)


def _clashes(
    files: Mapping[str, bytes], revision: Revision, errors: Mapping[str, tuple[Finding, ...]]
) -> Iterator[Finding]:
    """An error at each document whose identity a file with errors has again."""
    for path, found in errors.items():
        if all(item.code != DUPLICATE_IDENTITY for item in found) or path not in files:
            continue
        for again in _intents_of(path, files[path], revision):
            first = revision.intents.by_id(again.ref.id)
            if first is not None and first.ref.file != path:
                yield Finding(
                    code=DUPLICATE_IDENTITY,
                    severity=Severity.ERROR,
                    message=f"found {again.ref.id} here, and again in {again.ref.where}",
                    file=first.ref.file,
                    line=first.ref.line,
                    hint="rename or remove one of the two",
                )


def _intents_of(path: str, data: bytes, revision: Revision) -> tuple[Intent, ...]:
    """The valid intents of a file alone."""
    intents, _ = read_intents({path: data}, revision.settings, revision.cluster)
    return intents.intents


def _identities(path: str, data: bytes, revision: Revision) -> frozenset[str]:
    return frozenset(item.ref.id for item in _intents_of(path, data, revision))


@dataclass(frozen=True, slots=True, kw_only=True)
class _History:
    repository: Repository
    texts: Texts
    revision: Revision

    def broken_file(
        self, path: str, errors: tuple[Finding, ...], rivals: Iterable[str] = ()
    ) -> BrokenFile | None:
        """A file with these errors; None if it stops everything.

        `rivals` are files that may have the same identities.
        """
        owner = self._binding(path)
        text = self.texts.files.get(path)
        if text is None or owner is None:
            return None
        if is_proposal_file(path, self.revision.cluster) or path.endswith(".ics"):
            return None
        changes = self.repository.log(self.texts.commit, path=path, limit=_CHANGES)
        if not changes:
            return None
        last = changes[0]
        made = BrokenFile(
            errors=errors, owner=owner, text=text, commit=last.id, author=self._author(last)
        )
        if {item.code for item in errors} == {UNKNOWN_WINDOW}:
            return replace(made, held=text, held_at=last.id)
        return self._holding(made, changes, frozenset(rivals) - {path})

    def _binding(self, path: str) -> OwnerSettings | None:
        """The owner of a file that may act in single namespaces only."""
        owner = owner_of(path, self.revision.settings)
        return None if owner is None or "*" in owner.namespaces else owner

    def keeps(self, path: str, rivals: Iterable[str]) -> bool:
        """Whether a file may act everywhere and is valid, but for identities that others took.

        They did if it had them before, or got them in the same commit, and has had them since.
        """
        text = self.texts.files.get(path)
        if text is None or self._binding(path) is not None or not self._is_valid(path, text):
            return False
        mine = _identities(path, text, self.revision)
        taken = [
            (rival, identity)
            for rival in rivals
            if rival != path
            for identity in mine & _identities(rival, self.texts.files[rival], self.revision)
        ]
        return bool(taken) and all(
            self._binding(rival) is not None and self._took(rival, identity, path)
            for rival, identity in taken
        )

    def _took(self, path: str, identity: str, first: str) -> bool:
        """Whether a file has an identity only since a commit in which `first` had it, too."""
        for change in self.repository.log(self.texts.commit, path=path, limit=_CHANGES):
            before = next(iter(change.parents), None)
            if before is None:
                return False
            if identity in self._identities_at(before, path):
                continue
            changes = self.repository.log(self.texts.commit, path=first, limit=_CHANGES)
            since = [
                item.id for item in changes if not self.repository.is_ancestor(item.id, before)
            ]
            return len(since) < _CHANGES and all(
                identity in self._identities_at(commit, first) for commit in (change.id, *since)
            )
        return False

    def _identities_at(self, commit: str, path: str) -> frozenset[str]:
        return _identities(path, self.repository.read_blob(commit, path) or b"", self.revision)

    def _holding(
        self, made: BrokenFile, changes: tuple[Commit, ...], rivals: frozenset[str]
    ) -> BrokenFile | None:
        """With the file's last valid text; None if gitbot cannot be sure which one that is."""
        added: Commit | None = None
        for change in changes:
            data = self.repository.read_blob(change.id, made.path)
            if data is None:  # removed on purpose: an older text does not return
                break
            added = change
            if self._was_valid(change.id, made.path, data, rivals):
                now = (data != made.text or rivals) and self._is_valid(made.path, data)
                return replace(made, held=data, held_at=change.id) if now else None
        else:
            if len(changes) == _CHANGES:
                return None
        return made if added is not None and self._only_adds(added) else None

    def _only_adds(self, commit: Commit) -> bool:
        """Whether a commit removed no intents: a file that is renamed may not lose a freeze."""
        if not commit.parents:
            return False  # the first one, or the end of a shallow clone
        before = self.repository.read_tree(commit.parents[0], self._folder)
        return before.keys() <= self.repository.read_tree(commit.id, self._folder).keys()

    def _was_valid(self, commit: str, path: str, data: bytes, rivals: Iterable[str]) -> bool:
        """Whether a file was valid at a commit, under the configuration there.

        Its identities may not be those of a rival there.
        """
        taken = _identities(path, data, self.revision) if rivals else frozenset()
        if any(taken & self._identities_at(commit, rival) for rival in rivals):
            return False
        text = self.repository.read_blob(commit, CONFIGURATION_FILE) or b""
        settings, _ = read_settings(text, CONFIGURATION_FILE, beside_at(self.repository, commit))
        beside: Mapping[str, bytes] = {}
        if b"alendar" in data:
            beside = self.repository.read_tree(commit, self._folder)
        return self._is_sound(path, data, beside, settings or self.revision.settings)

    def _is_valid(self, path: str, data: bytes) -> bool:
        return self._is_sound(path, data, self.texts.files, self.revision.settings)

    def _is_sound(
        self, path: str, data: bytes, beside: Mapping[str, bytes], settings: Settings
    ) -> bool:
        """Whether a file alone, with the calendars beside it, has no errors."""
        files = {name: text for name, text in beside.items() if name.endswith(".ics")}
        _, findings = read_intents({**files, path: data}, settings, self.revision.cluster)
        return not any(stops(item) and item.code != UNKNOWN_WINDOW for item in findings)

    def _author(self, change: Commit) -> str:
        """Who wrote a change: of a merge, who wrote the head that was merged."""
        head = change.parents[1] if len(change.parents) > 1 else change.id
        known = self.repository.resolve(head) is not None
        return self.repository.commit(head).author if known else change.author

    @property
    def _folder(self) -> str:
        return f"{INTENTS}{self.revision.cluster}/"
