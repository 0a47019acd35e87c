"""Moves that would start now, as a plan that the constraints judge."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from gitbot.execution.executor_types import ExecutorInput
from gitbot.model.plan.findings import Severity
from gitbot.model.plan.plan import Move, PlacementPlan, Wave
from gitbot.model.plan.problem import MoveVms, Request, Target

LIMIT = "constraints/limit"


def refusals(view: ExecutorInput, moves: Iterable[Move]) -> tuple[str, ...]:
    """Why the constraints refuse these moves on the current cluster; empty if they do not.

    Times and limits are left out: this file decides when and how many, not the plan.
    """
    wanted = tuple(moves)
    problem = replace(view.problem, goals=_goals(wanted), freezes=(), reservations=())
    return tuple(
        finding.message
        for finding in view.replay(problem, trial_plan(view, wanted))
        if finding.severity is Severity.ERROR and finding.code != LIMIT
    )


def _goals(moves: tuple[Move, ...]) -> tuple[MoveVms, ...]:
    """One goal for each request, so that the replay knows whose moves these are."""
    first = {move.request: move for move in reversed(moves)}
    return tuple(
        MoveVms(
            request=Request(id=name, intent=move.intent),
            vms=tuple(item.vm.namespaced_name for item in moves if item.request == name),
            target=Target(),
            pin=move.pin,
        )
        for name, move in sorted(first.items())
    )


def trial_plan(view: ExecutorInput, moves: tuple[Move, ...]) -> PlacementPlan:
    """The moves as a plan that starts now, its waves counted from 0 without gaps."""
    indexes = {wave: index for index, wave in enumerate(sorted({move.wave for move in moves}))}
    waves: list[Wave] = []
    starts = view.problem.now
    for wave, index in indexes.items():
        longest = max(move.estimated_seconds for move in moves if move.wave == wave)
        waves.append(Wave(index=index, starts=starts, ends=starts + longest))
        starts += longest
    ordered = sorted(moves, key=lambda move: (move.wave, move.request, move.id))
    shift = view.problem.now - min((move.starts for move in moves), default=0)
    return PlacementPlan(
        cluster=view.cluster,
        moves=tuple(
            move
            if not move.starts and indexes[move.wave] == move.wave  # as it is: most of them
            else replace(move, wave=indexes[move.wave], starts=move.starts and move.starts + shift)
            for move in ordered
        ),
        waves=tuple(waves),
        limits=view.problem.limits,
    )
