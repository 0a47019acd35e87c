"""Files of the base branch with errors that stop only what their folders may act in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gitbot.intents import IntentSet
from gitbot.model.cluster.scheduling import ZONE
from gitbot.model.plan.findings import Finding
from gitbot.model.plan.plan import Move, NodeRef
from gitbot.model.plan.problem import Pin
from gitbot.model.text.names import IntentRef
from gitbot.settings import OwnerSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenFile:
    """A file with errors, in a folder that `owner` binds to namespaces.

    `text` is the file at the tip. `held` is its last valid text, from commit `held_at`: its rules
    and freezes hold, and nothing else of it starts. None: the file has never been valid. `author`
    wrote `commit`, the newest change of the file.
    """

    errors: tuple[Finding, ...]
    owner: OwnerSettings
    text: bytes
    commit: str
    author: str
    held: bytes | None = None
    held_at: str = ""

    @property
    def path(self) -> str:
        return self.errors[0].file

    @property
    def place(self) -> str:
        return f"{self.path}:{self.errors[0].line}"

    @property
    def scope(self) -> str:
        """Where nothing starts, in words."""
        nodes = [*self.owner.nodes.names]
        nodes += [f"{key}={value}" for key, value in sorted(self.owner.nodes.match_labels.items())]
        parts = [("namespace", self.owner.namespaces), ("node", nodes), ("zone", self.owner.zones)]
        return ", ".join(f"{what} {', '.join(names)}" for what, names in parts if names)

    @property
    def effect(self) -> str:
        """What follows from the errors, in a sentence."""
        held = "The file has never been valid: none of its rules and freezes holds."
        if self.held_at:
            held = f"Its rules and freezes as of {self.held_at[:12]} hold."
        return f"Nothing starts in {self.scope}. {held}"

    @property
    def reason(self) -> str:
        """Why something does not start."""
        return f"{self.place} has errors, so nothing starts in {self.scope}"

    @property
    def words(self) -> str:
        """File, line, error, author and effect, in one line."""
        return f"{self.place}: {self.error}. {self.effect}"

    @property
    def error(self) -> str:
        """The first error, and who made it."""
        first = self.errors[0]
        said = f"{first.key_path}: {first.message}" if first.key_path else first.message
        return f"{said} (by {self.author} in {self.commit[:12]})"


def repaired(files: Mapping[str, bytes], broken: Iterable[BrokenFile]) -> Mapping[str, bytes]:
    """The files with the last valid text in place of each broken one that has not changed since."""
    found = dict(files)
    for item in broken:
        if found.get(item.path) != item.text:
            continue
        if item.held is None:
            del found[item.path]
        else:
            found[item.path] = item.held
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderStops:
    """What must not start because of broken files. `labels` has the labels of the nodes by name."""

    broken: tuple[BrokenFile, ...]
    intents: IntentSet
    labels: Mapping[str, Mapping[str, str]]

    def of_move(self, move: Move) -> str:
        """Why a move must not start; "" if it may."""
        return _reason(self.by_move(move))

    def by_move(self, move: Move) -> BrokenFile | None:
        """The file because of which a move must not start.

        A move that is not pinned to a node may land on each of its allowed nodes.
        """
        landing = {} if move.pin is Pin.NODE else dict.fromkeys(move.allowed_nodes, "")
        zones = landing | {ref.node: ref.zone for ref in (move.source, move.to)}
        for item in self.broken:
            if item.owner.owns(move.vm.namespace) or any(
                self._owns(item, NodeRef(node=node, zone=zone)) for node, zone in zones.items()
            ):
                return item
        return self._by_intent(move.intent)

    def of_node(self, node: str) -> str:
        """Why a node must not leave service; "" if it may."""
        return _reason(self.by_node(node))

    def by_node(self, node: str) -> BrokenFile | None:
        where = NodeRef(node=node, zone="")
        return next((item for item in self.broken if self._owns(item, where)), None)

    def of_namespace(self, namespace: str) -> str:
        """Why no VM of a namespace moves; "" if they may."""
        found = (item for item in self.broken if item.owner.owns(namespace))
        return _reason(next(found, None))

    def of_intent(self, ref: IntentRef) -> str:
        """Why an intent starts nothing (its namespace, file, or window's file); "" if it may."""
        return _reason(self._by_intent(ref))

    def _by_intent(self, ref: IntentRef) -> BrokenFile | None:
        files = {ref.file}
        if (found := self.intents.by_id(ref.id)) is not None:
            files.add(found.ref.file)
        asked = self.intents.request(ref)
        window = self.intents.window(asked[1].window or "") if asked is not None else None
        if window is not None:
            files.add(window[0].ref.file)
        for item in self.broken:
            if item.path in files or (ref.namespace and item.owner.owns(ref.namespace)):
                return item
        return None

    def _owns(self, item: BrokenFile, where: NodeRef) -> bool:
        labels = self.labels.get(where.node, {})
        return item.owner.owns_node(where.node, where.zone or labels.get(ZONE, ""), labels)


def _reason(item: BrokenFile | None) -> str:
    return item.reason if item is not None else ""
