"""Intents to rules and goals on one cluster at one instant, with findings that need both.

Pure: the history of requests, homes and reservations are arguments. Only this part of the room
knows constraints.
"""

from gitbot.intents.compile.allowed_times import HORIZON
from gitbot.intents.compile.build_problem import (
    build_problem,
    compile_goals,
    effective_limits,
    load_now,
)
from gitbot.intents.compile.drains import Opening, compile_drain, opening_of
from gitbot.intents.compile.freezes import compile_freezes
from gitbot.intents.compile.heals import compile_heal
from gitbot.intents.compile.load_rules import load_rules
from gitbot.intents.compile.placement_rules import compile_rules
from gitbot.intents.compile.request_history import NO_PAST, RequestHistory
from gitbot.intents.compile.requests import allowed_for, compile_requests, request_id
from gitbot.intents.compile.selected_nodes import nodes_of

__all__ = [
    "HORIZON",
    "NO_PAST",
    "Opening",
    "RequestHistory",
    "allowed_for",
    "build_problem",
    "compile_drain",
    "compile_freezes",
    "compile_goals",
    "compile_heal",
    "compile_requests",
    "compile_rules",
    "effective_limits",
    "load_now",
    "load_rules",
    "nodes_of",
    "opening_of",
    "request_id",
]
