"""The ledger store on branch `gitbot/ledger`: append-only files, one commit an append."""

from __future__ import annotations

from collections.abc import Mapping

from gitbot.errors import LedgerError
from gitbot.model.ledger import Entry, Ledger
from gitbot.model.ledger_json import append_lines, chain, read_files
from gitbot.ports.repository import Repository

BRANCH = "gitbot/ledger"


class GitLedgerStore:
    """The LedgerStore port over a Repository.

    It remembers the newest head that it saw: a branch that no longer holds it was rewritten, and
    nothing is done on a rewritten ledger.
    """

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._seen = ""
        self._ledger = Ledger()  # as verified, or written, at its head
        self._files: dict[str, bytes] = {}  # the same as files

    def read(self) -> Ledger:
        """The whole ledger, verified."""
        self._repository.fetch()
        head = self._repository.resolve(BRANCH) or ""
        if self._seen and (not head or not self._repository.is_ancestor(self._seen, head)):
            raise LedgerError(
                f"branch {BRANCH} no longer holds commit {self._seen[:12]}",
                hint="somebody rewrote or deleted it: restore it before gitbot goes on",
            )
        self._seen = head
        if head != self._ledger.head:
            self._files = dict(self._repository.read_tree(head)) if head else {}
            self._ledger = _ledger(head, self._files)
        return self._ledger

    def append(
        self, ledger: Ledger, entries: tuple[Entry, ...], plans: Mapping[str, bytes]
    ) -> Ledger:
        """Add entries in one commit on top of `ledger`, compare-and-swap."""
        linked = chain(ledger.entries[-1] if ledger.entries else None, entries)
        new_plans = {key: data for key, data in plans.items() if key not in ledger.plans}
        if not linked and not new_plans:
            return ledger
        files: dict[str, bytes | None] = {
            f"plans/{key}.json": data for key, data in new_plans.items()
        }
        known = self._files if ledger.head == self._ledger.head else None
        for path in sorted({entry.file for entry in linked}):
            present = append_lines(b"", ledger.of(path)) if known is None else known.get(path, b"")
            added = (entry for entry in linked if entry.file == path)
            files[path] = append_lines(present, added)
        head = self._repository.write_commit(
            branch=BRANCH,
            expected=ledger.head or None,
            files=files,
            message=_message(linked),
            time=max((entry.time for entry in linked), default=0),
        )
        self._seen = head
        grown = Ledger(
            entries=(*ledger.entries, *linked), plans={**ledger.plans, **new_plans}, head=head
        )
        if known is not None:
            known.update((path, data) for path, data in files.items() if data is not None)
            self._ledger = grown
        return grown


def _ledger(head: str, files: Mapping[str, bytes]) -> Ledger:
    plans = {
        path.removeprefix("plans/").removesuffix(".json"): data
        for path, data in files.items()
        if path.startswith("plans/")
    }
    return Ledger(entries=read_files(files), plans=plans, head=head)


def _message(entries: tuple[Entry, ...]) -> str:
    if not entries:
        return "Keep plans"
    subjects = sorted({entry.request or entry.file for entry in entries})
    more = f" and {len(subjects) - 1} more" if len(subjects) > 1 else ""
    lines = "\n".join(_line(entry) for entry in entries[:50])
    return f"Record {subjects[0]}{more}\n\n{lines}"


def _line(entry: Entry) -> str:
    move = f" {entry.vm} {entry.source} -> {entry.to}" if entry.vm else ""
    return f"{entry.seq} {entry.state} {entry.request or entry.file}{move}"
