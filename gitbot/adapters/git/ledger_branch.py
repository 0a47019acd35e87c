"""The ledger store on branch `gitbot/ledger`: append-only files, one commit for each append."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping

from gitbot.errors import LedgerError
from gitbot.model.ledger.events import KnownEvent
from gitbot.model.ledger.ledger import Ledger
from gitbot.ports.repository import Repository
from gitbot.published.ledger_lines import KnownLines, append_lines, chain, line_value, read_files

BRANCH = "gitbot/ledger"


class GitLedgerStore:
    """The LedgerStore port over a Repository.

    It remembers the newest head that it saw. A branch that does not contain this head was
    rewritten, and gitbot does nothing on a rewritten ledger.
    """

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._seen = ""
        self._ledger = Ledger()  # verified, or written, at its head
        self._files: dict[str, bytes] = {}  # the same ledger as files
        self._is_known = False  # whether it is the newest of which this process knows

    def read(self) -> Ledger:
        self._repository.fetch()
        head = self._repository.resolve(BRANCH) or ""
        if self._seen and (not head or not self._repository.is_ancestor(self._seen, head)):
            raise LedgerError(
                f"branch {BRANCH} no longer holds commit {self._seen[:12]}",
                hint="somebody rewrote or deleted it: restore it before gitbot goes on",
            )
        self._seen = head
        if head != self._ledger.head:
            known = KnownLines(files=self._files, events=self._ledger.events)
            files = dict(self._repository.read_tree(head, bounded=False)) if head else {}
            self._ledger = _ledger(head, files, known)
            self._files = files
        self._is_known = True
        return self._ledger

    def known(self) -> Ledger:
        return self._ledger if self._is_known else self.read()

    def append(
        self, ledger: Ledger, events: tuple[KnownEvent, ...], plans: Mapping[str, bytes | None]
    ) -> Ledger:
        linked = chain(ledger.events[-1] if ledger.events else None, events)
        changed = ledger.plan_changes(plans)
        if not linked and not changed:
            return ledger
        files: dict[str, bytes | None] = {
            f"plans/{key}.json": data for key, data in changed.items()
        }
        known = self._files if ledger.head == self._ledger.head else None
        for path in sorted({event.file for event in linked}):
            present = append_lines(b"", ledger.of(path)) if known is None else known.get(path, b"")
            added = (event for event in linked if event.file == path)
            files[path] = append_lines(present, added)
        self._is_known = False
        head = self._repository.write_commit(
            branch=BRANCH,
            expected=ledger.head or None,
            files=files,
            message=_message(linked),
            time=max((event.time for event in linked), default=0),
        )
        self._seen = head
        grown = Ledger(
            events=(*ledger.events, *linked), plans=ledger.plans_with(changed), head=head
        )
        if known is not None:
            for path, data in files.items():
                if data is None:
                    known.pop(path, None)
                else:
                    known[path] = data
            self._ledger, self._is_known = grown, True
        return grown


def read_ledger(repository: Repository, branch: str) -> Ledger:
    """The ledger on a branch as it is, without a fetch; empty if there is no such branch."""
    head = repository.resolve(branch)
    return _ledger(head, repository.read_tree(head, bounded=False)) if head else Ledger()


def _ledger(head: str, files: Mapping[str, bytes], known: KnownLines | None = None) -> Ledger:
    plans = {
        path.removeprefix("plans/").removesuffix(".json"): data
        for path, data in files.items()
        if path.startswith("plans/")
    }
    return Ledger(events=read_files(files, known=known), plans=plans, head=head)


def _message(events: tuple[KnownEvent, ...]) -> str:
    if not events:
        return "Keep plans"
    subjects = sorted({_subject(event) for event in events})
    more = f" and {len(subjects) - 1} more" if len(subjects) > 1 else ""
    lines = "\n".join(_line(event) for event in events[:50])
    return f"Record {subjects[0]}{more}\n\n{lines}"


def _subject(event: KnownEvent) -> str:
    return str(line_value(event).get("request", event.file))


def _line(event: KnownEvent) -> str:
    line = line_value(event)
    move = f" {line['vm']} {line.get('from', '')} -> {line.get('to', '')}" if "vm" in line else ""
    return f"{event.seq} {event.state} {_subject(event)}{move}"


def ledger_name(remote: str) -> str:
    """The name of a repository's ledger, as a key of a ConfigMap: readable, and without secrets."""
    address = re.sub("^([a-z+]+://)[^/@]*@", r"\1", remote).removesuffix("/").removesuffix(".git")
    last = re.sub("[^-._A-Za-z0-9]", "-", address.rpartition("/")[2])[-100:]
    return f"{last}.{hashlib.sha256(address.encode()).hexdigest()[:12]}"
