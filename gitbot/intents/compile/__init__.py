"""Intents to rules and goals on one cluster at one instant, with findings that need both.

Pure: the history of requests, homes and reservations are arguments. Only this room, and the
`compile` of each kind, know constraints.
"""

from gitbot.intents.allowed_times import HORIZON
from gitbot.intents.compile.build_problem import (
    build_problem,
    compile_goals,
    effective_limits,
    goals_of,
    load_now,
)
from gitbot.intents.compile.heals import compile_heal
from gitbot.intents.compile.measured_rules import is_measured, measured_rules
from gitbot.intents.compile.placement_rules import compile_rules
from gitbot.intents.kinds.freeze_window.compile import compile_freezes
from gitbot.intents.kinds.kind import GoalInputs, Role
from gitbot.intents.kinds.maintenance_window.compile import Opening, compile_drain, opening_of
from gitbot.intents.kinds.migration_request.compile import (
    allowed_for,
    compile_requests,
    request_id,
)
from gitbot.intents.request_history import NO_PAST, RequestHistory
from gitbot.intents.selected_nodes import nodes_of

__all__ = [
    "HORIZON",
    "NO_PAST",
    "GoalInputs",
    "Opening",
    "RequestHistory",
    "Role",
    "allowed_for",
    "build_problem",
    "compile_drain",
    "compile_freezes",
    "compile_goals",
    "compile_heal",
    "compile_requests",
    "compile_rules",
    "effective_limits",
    "goals_of",
    "is_measured",
    "load_now",
    "measured_rules",
    "nodes_of",
    "opening_of",
    "request_id",
]
