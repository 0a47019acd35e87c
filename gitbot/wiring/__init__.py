"""Settings to adapters or simulator to workflows: the only place that picks implementations.

Here is what a command takes from the machine: files, the clock, signals. It is quick to import.
`wiring.workspace` opens repository, forge and clusters; `wiring.demo` starts the simulation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitbot.adapters.clock import SystemClock, seconds_counted
from gitbot.adapters.progress_bar import StderrProgress
from gitbot.adapters.signals import Stop, StoppableClock, stop_on_signals
from gitbot.adapters.working_tree import (
    ShippedTexts,
    find_root,
    read_plain_file,
    read_working_tree,
    replace_file,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from gitbot.adapters.sandbox.policy_runner import LimitedPolicyRunner
    from gitbot.reports.own_templates import TemplateFault, TextQuestion

__all__ = [
    "ShippedTexts",
    "StderrProgress",
    "Stop",
    "StoppableClock",
    "SystemClock",
    "find_root",
    "policy_runner",
    "read_plain_file",
    "read_working_tree",
    "replace_file",
    "seconds_counted",
    "stop_on_signals",
    "template_process",
]


def policy_runner() -> LimitedPolicyRunner:
    """The process with limits, in which policies of a repository are compiled and run."""
    from gitbot.adapters.sandbox.policy_runner import the_runner  # noqa: PLC0415 - only for policies

    return the_runner()


def template_process() -> Callable[[TextQuestion], str | TemplateFault]:
    """What renders templates of a repository, in the process with limits."""
    from gitbot.wiring.plan_worker import render_apart  # noqa: PLC0415 - no planner without them

    return render_apart
