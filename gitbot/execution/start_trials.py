"""Whether the constraints accept moves on the current cluster, by a replay of a trial plan."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from gitbot.execution.executor_types import ExecutorInput
from gitbot.model.plan.findings import Severity
from gitbot.model.plan.plan import Move, PlacementPlan, Wave
from gitbot.model.plan.problem import MoveVms, Pin, Request, Target
from gitbot.model.text.instants import FOREVER

LIMIT = "constraints/limit"


def refusals(view: ExecutorInput, moves: Iterable[Move]) -> tuple[str, ...]:
    """Why the constraints refuse these moves on the current cluster; empty if they accept them.

    Times and limits are ignored: `starts` decides when and how many moves start.
    """
    wanted = tuple(moves)
    goals = _goals(wanted)
    problem = replace(view.problem, goals=goals, freezes=(), reservations=(), at_once=True)
    return tuple(
        finding.message
        for finding in view.replay(problem, trial_plan(view, wanted))
        if finding.severity is Severity.ERROR and finding.code != LIMIT
    )


def _goals(moves: tuple[Move, ...]) -> tuple[MoveVms, ...]:
    """One goal for each request, so that the replay knows whose moves these are.

    The review judged how long groups that move as one may pause; times are ignored here.
    """
    first = {move.request: move for move in reversed(moves)}
    return tuple(
        MoveVms(
            request=Request(id=name, intent=move.intent, allow_breach=FOREVER),
            vms=tuple(item.vm.namespaced_name for item in moves if item.request == name),
            target=Target(added=move.added_node_selector if move.pin is Pin.NONE else {}),
            pin=move.pin,
        )
        for name, move in sorted(first.items())
    )


def trial_plan(view: ExecutorInput, moves: tuple[Move, ...]) -> PlacementPlan:
    """The moves as a plan that starts now, with waves numbered from 0 without gaps."""
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
            if not move.starts and indexes[move.wave] == move.wave  # most moves need no copy
            else replace(move, wave=indexes[move.wave], starts=move.starts and move.starts + shift)
            for move in ordered
        ),
        waves=tuple(waves),
        limits=view.problem.limits,
    )
