"""What -n and -l leave of a status: requests, moves, VMs, nodes and openings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from gitbot.intents.compile import request_id
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import labels_of, name_of
from gitbot.kubernetes.selectors import Scope
from gitbot.model.ledger.request_id import RequestId
from gitbot.workflows.ask.status import RequestStatus, StatusResult, look_at_all
from gitbot.workflows.core.context import RunContext
from gitbot.workflows.current_state import CurrentState


def status_in(shell: RunContext, scope: Scope) -> StatusResult:
    """What a scope leaves of the status of everything.

    VMs and their moves are chosen by the labels of the VMI, nodes and intents by their own.

    A request stays if one of its moves does, or if its intent is chosen. What stops gitbot, broken
    intents and pull requests have neither namespace nor labels: they always stay.
    """
    seen, page = look_at_all(shell)
    return _StatusFilter(seen, scope).of(page) if scope.narrows else page


class _StatusFilter:
    def __init__(self, seen: CurrentState, scope: Scope) -> None:
        snapshot = seen.problem.snapshot
        self._scope = scope
        self._machines = {
            name_of(vmi): labels_of(vmi) for vmi in snapshot.of("VirtualMachineInstance")
        }
        self._nodes = {name_of(node).name: labels_of(node) for node in snapshot.of("Node")}
        self._declared: Mapping[str, Mapping[str, str]] = {
            request_id(intent): intent.labels for intent, _ in seen.base.intents.migration_requests
        }

    def of(self, page: StatusResult) -> StatusResult:
        kept = {
            occurrence: tuple(node for node in nodes if self._node(node.record.node))
            for occurrence, nodes in page.nodes.items()
        }
        return replace(
            page,
            requests=tuple(self._requests(page)),
            nodes={occurrence: nodes for occurrence, nodes in kept.items() if nodes},
            away=tuple(item for item in page.away if self._vm(item.vm)),
            openings=tuple(
                item
                for item in page.openings
                if self._scope.holds(item.intent.ref.namespace, item.intent.labels)
            ),
            owners=tuple(item for item in page.owners if self._wish(item.request)),
            not_applied=tuple(item for item in page.not_applied if self._wish(item.request)),
            not_planned=tuple(item for item in page.not_planned if self._wish(item.request)),
        )

    def _requests(self, page: StatusResult) -> Iterator[RequestStatus]:
        for item in page.requests:
            moves = tuple(move for move in item.moves if self._vm(move.record.vm))
            if moves or self._wish(item.record.id):
                yield replace(item, moves=moves or item.moves)

    def _vm(self, name: NamespacedName) -> bool:
        return self._scope.holds(name.namespace, self._machines.get(name, {}))

    def _node(self, name: str) -> bool:
        return self._scope.holds("", self._nodes.get(name, {}))

    def _wish(self, request: RequestId) -> bool:
        """By the intent of a request; a drain, whose moves are chosen one by one, is not a wish."""
        namespace = getattr(request, "namespace", "")
        if not namespace and self._scope.namespace:
            return False
        return self._scope.holds(namespace, self._declared.get(request, {}))
