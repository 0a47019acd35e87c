"""Whose approval a request needs: owners of its namespace, and of the node or zone it names.

A MigrationRequest and a healing need an owner of every namespace whose VMs they move; the request
also one of the node or zone that it names, and of every node that its nodeSelector allows. A drain
and the way home need an owner of the nodes that are emptied, not of the VMs on them. What nobody
owns needs nobody's approval, but for VMs that step aside in a namespace that the folder of the
intent may not act in: without an owner of it nobody can approve that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from gitbot.intents.codeowners import CODEOWNERS
from gitbot.intents.folder_owners import owner_of
from gitbot.intents.intent import IntentSet
from gitbot.model.cluster.scheduling import ZONE
from gitbot.model.grouping import grouped
from gitbot.model.ledger.owner_approval import RequiredApproval
from gitbot.model.ledger.request_id import DrainId, RequestId, ReturnId
from gitbot.model.plan.plan import Move, NodeRef
from gitbot.model.text.wording import first_of
from gitbot.settings import OwnerSettings, Settings

_NAMED = 3

Labels = Mapping[str, str]


def no_labels(_node: str) -> Labels:
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnershipRules:
    """Who owns what at one commit. `labels` gives a node's labels; asked only if an owner selects.

    `codeowners` is the text of that file, "" without one, `grammar` that of its forge.
    """

    settings: Settings
    codeowners: str = ""
    grammar: str = "github"
    labels: Callable[[str], Labels] = field(default=no_labels)

    @property
    def asks(self) -> bool:
        """Whether anybody's approval may be needed."""
        return bool(self.settings.owners)

    def may_act(self, file: str, namespace: str) -> bool:
        owner = owner_of(file, self.settings)
        return owner is None or owner.owns(namespace)

    def of_namespace(self, namespace: str, file: str) -> tuple[tuple[str, ...], ...]:
        """Teams of the namespace's owner; without teams those of CODEOWNERS for the file.

        One of each group must approve. A file outside of the owner's folders does not choose its
        owners: then the folder counts.
        """
        owner = self.settings.namespace_owner(namespace)
        if owner is None:
            return ()
        if owner.teams:
            return (owner.teams,)
        return CODEOWNERS[self.grammar].owners(
            self.codeowners, file if owner.holds(file) else f"{owner.paths[0]}/file.yaml"
        )

    def of_node(self, node: str, zone: str) -> tuple[str, ...]:
        entries = self.settings.owners
        asked = any(item.nodes.match_labels or (item.zones and not zone) for item in entries)
        labels = self.labels(node) if asked else {}
        where = zone or labels.get(ZONE, "")
        return self._last(lambda item: item.owns_node(node, where, labels))

    def of_zone(self, zone: str) -> tuple[str, ...]:
        return self._last(lambda item: item.owns_zone(zone))

    def _last(self, owns: Callable[[OwnerSettings], bool]) -> tuple[str, ...]:
        found = [item.teams for item in self.settings.owners if owns(item)]
        return found[-1] if found else ()


def needs_of(
    owners: OwnershipRules,
    intents: IntentSet,
    request: RequestId,
    moves: Iterable[Move],
    *,
    drained: Iterable[str] = (),
) -> tuple[RequiredApproval, ...]:
    """What must be approved before the moves of one request run, sorted.

    `drained` are the nodes that a drain empties.
    """
    mine = tuple(move for move in moves if move.request == request)
    nodes = {ref.node: ref.zone for move in mine for ref in (move.source, move.to)}
    if isinstance(request, DrainId):
        return _nodes(owners, [NodeRef(node=node, zone=nodes.get(node, "")) for node in drained])
    if isinstance(request, ReturnId):
        return _nodes(owners, {move.to for move in mine})
    spaces = {(move.intent.namespace, move.intent.file) for move in mine if move.intent.namespace}
    spaces |= {(move.vm.namespace, move.intent.file) for move in mine}
    found = {
        RequiredApproval(subject=f"namespace {space}", owners=who)
        for space, file in spaces
        for who in owners.of_namespace(space, file)
        or (() if owners.may_act(file, space) else ((),))
    }
    for move in mine:
        found |= {need for need in _target(owners, intents, move) if need.owners}
    return tuple(sorted(found))


def _target(owners: OwnershipRules, intents: IntentSet, move: Move) -> tuple[RequiredApproval, ...]:
    """What a MigrationRequest names: a node, a zone, or every node that its selector allows."""
    asked = intents.request(move.intent)
    target = asked[1].target if asked is not None else None
    if target is None:
        return ()
    if target.zone:
        return (
            RequiredApproval(subject=f"zone {target.zone}", owners=owners.of_zone(target.zone)),
        )
    names = (target.node,) if target.node else move.allowed_nodes
    known = {ref.node: ref.zone for ref in (move.source, move.to)}
    return _nodes(owners, [NodeRef(node=node, zone=known.get(node, "")) for node in names])


def _nodes(owners: OwnershipRules, nodes: Iterable[NodeRef]) -> tuple[RequiredApproval, ...]:
    """One need for all nodes of the same owners."""
    teams = grouped((owners.of_node(ref.node, ref.zone), ref.node) for ref in sorted(nodes))
    return tuple(
        RequiredApproval(
            subject=f"{'node' if len(names) == 1 else 'nodes'} {first_of(names, _NAMED)}",
            owners=who,
        )
        for who, names in sorted(teams.items())
        if who
    )
