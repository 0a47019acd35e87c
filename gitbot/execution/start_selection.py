"""Moves that could start, and a selection of them while it is made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gitbot.execution.cluster_facts import Slots
from gitbot.execution.executor_types import Approved, OutdatedGroup, Waiting
from gitbot.execution.ledger_folds import NodeRecord
from gitbot.execution.request_records import MoveRecord, RequestRecord
from gitbot.kubernetes.names import NamespacedName
from gitbot.model.ledger.effect_id import EffectId
from gitbot.model.ledger.request_id import RequestId
from gitbot.model.plan.plan import Move, MoveRef
from gitbot.model.struct import FrozenStruct


class Candidate(FrozenStruct, frozen=True, kw_only=True):
    """A move that has no VMIM and has not ended. `intended`: the ledger has announced it.

    `claimed`: an executor may still create its VMIM, so its place and its slot count as taken.
    """

    approved: Approved
    move: Move
    record: MoveRecord
    request: RequestRecord
    intended: bool
    claimed: bool


class Unfinished(FrozenStruct, frozen=True, kw_only=True):
    """A move of an approved plan that has not ended. `runs`: its VMIM was created."""

    approved: Approved
    move: Move
    runs: bool


@dataclass(slots=True, kw_only=True)
class Selection:
    """One selection while it is made. `refused` counts refusals by the checks; `waits` caches.

    `stopped` has the moves that errors on the base branch stop, and why; `unplaced` those that run
    and whose target pods have no node yet.
    """

    slots: Slots
    nodes: dict[RequestId, dict[str, NodeRecord]]
    candidates: tuple[Candidate, ...]
    unfinished: Mapping[str, Mapping[MoveRef, Unfinished]]
    blocked: set[tuple[RequestId, str]]
    stopped: Mapping[tuple[RequestId, int], str]
    unplaced: tuple[Move, ...]
    gate: str  # see ExecutorInput
    chosen: list[Candidate] = field(default_factory=list)
    begins: list[tuple[Approved, str]] = field(default_factory=list)
    waiting: list[Waiting] = field(default_factory=list)
    stale: list[OutdatedGroup] = field(default_factory=list)
    refused: int = 0
    waits: dict[tuple[RequestId, str, int, int], frozenset[int]] = field(default_factory=dict)


def attempt_of(candidate: Candidate) -> int:
    return candidate.record.attempt if candidate.intended else candidate.record.attempt + 1


def effect_name(candidate: Candidate) -> NamespacedName:
    move = candidate.move
    identity = EffectId(
        request=move.request, vmi_uid=move.vm.uid, move=move.id, attempt=attempt_of(candidate)
    )
    return NamespacedName(
        namespace=move.vm.namespace, name=identity.migration_name(vm=move.vm.name)
    )
