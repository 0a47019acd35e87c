"""Plans in a process of their own: `python -m gitbot.wiring.plan_worker`.

Untrusted heads are read and planned there, and so are concerns: a planner that does not return is
killed with its process. It has limits on time, memory and output, no variable of gitbot's
environment, no credential and, on Linux, no network. What it answers is read as values of gitbot's
own classes, and nothing else.
"""

from __future__ import annotations

import atexit
import gc
import io
import os
import pickle
import signal
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass, is_dataclass, replace
from enum import Enum
from functools import lru_cache, partial
from importlib import import_module
from typing import Any, BinaryIO

from gitbot.adapters.clock import seconds_counted
from gitbot.adapters.sandbox.seccomp import limit, limit_time
from gitbot.adapters.sandbox.worker_process import EndedError, LimitedProcess
from gitbot.errors import Bug, LimitExceeded, UserInterrupt
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.ledger.request_id import RequestId
from gitbot.model.plan.plan import PlacementPlan
from gitbot.model.plan.problem import PlacementProblem
from gitbot.model.progress import PLANNING, PlanningProgress
from gitbot.planner import make_plan
from gitbot.policy import PolicySet
from gitbot.reports.own_templates import TemplateFault, TextQuestion, render_text
from gitbot.workflows.check import (
    CheckResult,
    ClusterScope,
    Planned,
    in_time,
    plan_in_process,
)
from gitbot.workflows.core.context import PLANNING_TIMEOUT
from gitbot.workflows.core.revision import POLICIES, Revision, Texts, read_change

MEMORY = 4096  # MiB of addresses
ANSWER = 64  # MiB
TEMPLATE_TIMEOUT = 2  # seconds of processor time for a text
_GRACE = 60  # seconds beyond the time for one question, on a machine that does other things too


@dataclass(frozen=True, slots=True, kw_only=True)
class ConcernQuestion:
    """A problem without its snapshot; that, if it is not the one of the question before."""

    problem: PlacementProblem
    snapshot: ClusterSnapshot | None


_NOTHING = ClusterSnapshot(cluster="", taken_at=0, objects={})


@dataclass(slots=True)
class _Sent:
    """The snapshot that a process has from the question before."""

    process: object = None
    snapshot: ClusterSnapshot = _NOTHING


_sent = _Sent()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanningFailure:
    """What planning raised, in words; a bug unless it is one of these."""

    text: str = ""
    stopped: bool = False
    memory: bool = False


def plan_apart(scope: ClusterScope, onlooker: PlanningProgress) -> Planned:
    """As `plan_here`, in the process. Raises Interrupted, LimitExceeded.

    It comes first: what compiles and plans there within the limits does so here, too.
    """
    if onlooker.stopped():
        raise UserInterrupt("ended as asked: nothing was planned yet")
    onlooker.begins(PLANNING)
    plan, previews, findings = _ask(_without_policies(scope), onlooker.stopped)
    return plan, previews, findings


def plan_problem_apart(
    problem: PlacementProblem, stopped: Callable[[], bool], seconds: int
) -> PlacementPlan:
    """As `make_plan`, in the process. Raises UserInterrupt, LimitExceeded."""
    last = seconds_counted() + seconds

    def late() -> bool:
        return seconds_counted() > last

    try:
        plan: PlacementPlan = _ask(_question(problem), lambda: stopped() or late())
    except UserInterrupt as ended:
        if stopped():
            raise
        raise LimitExceeded(_too_slow(seconds)) from ended
    _sent.process, _sent.snapshot = the_process().started, problem.snapshot
    if stopped():
        raise UserInterrupt("ended as asked: the plan so far is not used")
    if late():
        raise LimitExceeded(_too_slow(seconds))
    return plan


def _question(problem: PlacementProblem) -> ConcernQuestion:
    process = the_process().started
    has = process is not None and _sent.process is process and _sent.snapshot is problem.snapshot
    bare = replace(problem, snapshot=_NOTHING)
    return ConcernQuestion(problem=bare, snapshot=None if has else problem.snapshot)


def _too_slow(seconds: int) -> str:
    return f"planning took longer than {seconds} s"


def read_apart(texts: Texts, base: Revision) -> Revision:
    """As `read_change`, after the process has read the same. Raises LimitExceeded.

    Policies are compiled in the process for policies.
    """
    files = {path: text for path, text in texts.files.items() if not path.startswith(POLICIES)}
    try:
        _ask((replace(texts, files=files), _bare(base)))
    except UserInterrupt as ended:
        raise LimitExceeded(ended.message) from ended
    return read_change(texts, base)


def render_apart(question: TextQuestion) -> str | TemplateFault:
    """As `render_text`, in the process."""
    try:
        made = _ask(question)
    except UserInterrupt:
        return TemplateFault(message=f"found a template that runs longer than {TEMPLATE_TIMEOUT} s")
    except LimitExceeded as ended:
        return TemplateFault(message=f"found a template that exceeds its limits: {ended.message}")
    if not isinstance(made, str | TemplateFault):
        return TemplateFault(message="found no text, expected one")
    return made


def _ask(question: object, stopped: Callable[[], bool] = lambda: False) -> Any:
    try:
        found = read_answer(the_process().ask(pickle.dumps(question), stopped))
    except EndedError as ended:
        if ended.slow:
            raise UserInterrupt(f"nothing is planned: {ended}") from ended
        raise LimitExceeded(str(ended)) from ended
    if not isinstance(found, PlanningFailure):
        return found
    if found.stopped:
        raise UserInterrupt(found.text)
    if found.memory:
        raise LimitExceeded(f"out of memory: its process may use {MEMORY} MiB")
    raise Bug(f"BUG: planning apart: {found.text}")


def check_apart(judge: Callable[..., CheckResult], onlooker: PlanningProgress) -> CheckResult:
    """`judge` plans in the process; a finding if that takes more than its limits."""
    with_limits = partial(judge, planning=plan_apart)
    return in_time(lambda patience: with_limits(onlooker=patience), onlooker, seconds_counted)


@lru_cache(maxsize=1)
def the_process() -> LimitedProcess:
    """One for all pull requests of this process."""
    made = LimitedProcess(
        "gitbot.wiring.plan_worker",
        seconds=PLANNING_TIMEOUT,
        memory=MEMORY,
        answer=ANSWER,
        wait=PLANNING_TIMEOUT + _GRACE,
    )
    atexit.register(made.close)
    return made


def _without_policies(scope: ClusterScope) -> ClusterScope:
    """Policies judge the plan afterwards, in the process for policies."""
    return replace(scope, engine=replace(scope.engine, revision=_bare(scope.engine.revision)))


def _bare(revision: Revision) -> Revision:
    shipped = replace(revision.shipped, policies={}, templates={}, runner=None)
    return replace(revision, policies=PolicySet(), shipped=shipped)


_PLAIN = (Enum, tuple, str)


class _AllowlistUnpickler(pickle.Unpickler):
    """Makes values of gitbot's own classes, and calls nothing else."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("builtins", "getattr"):
            return _member
        found = getattr(import_module(module), name, None) if _is_ours(module) else None
        plain = isinstance(found, type) and (is_dataclass(found) or issubclass(found, _PLAIN))
        if not plain:
            raise LimitExceeded(f"its answer holds {module}.{name}")
        return found


def _is_ours(module: str) -> bool:
    return module.startswith("gitbot.") and module in sys.modules


def _member(kind: type, name: str) -> Any:
    """What the values of gitbot have beside classes: members of enumerations, ids from text."""
    if issubclass(kind, Enum):
        return kind[name]
    if (kind, name) == (RequestId, "read"):
        return RequestId.read
    raise LimitExceeded(f"its answer holds {kind.__name__}.{name}")


def read_answer(data: bytes) -> Any:
    try:
        return _AllowlistUnpickler(io.BytesIO(data)).load()
    except LimitExceeded:
        raise
    except Exception as error:
        raise LimitExceeded(f"its answer cannot be read: {error}") from error


class _SignalOnlooker:
    """An onlooker that a signal asks to end."""

    def __init__(self) -> None:
        self.asked = False

    def begins(self, stage: str) -> None:
        pass

    def planned(self, moves: int) -> None:
        pass

    def stopped(self) -> bool:
        return self.asked

    def ask(self, *_: object) -> None:
        self.asked = True


def serve(questions: BinaryIO, answers: BinaryIO, seconds: int) -> None:
    """Answer until there are no more questions. Each has its length before it."""
    while size := questions.read(4):
        told = _SignalOnlooker()
        signal.signal(signal.SIGTERM, told.ask)
        limit_time(seconds)
        made = pickle.dumps(_answer(questions.read(int.from_bytes(size, "big")), told))
        answers.write(len(made).to_bytes(4, "big") + made)
        answers.flush()


def _answer(
    question: bytes, told: _SignalOnlooker
) -> Planned | PlacementPlan | PlanningFailure | TemplateFault | str | bool:
    try:
        asked = pickle.loads(question)  # noqa: S301 - of the parent
        if isinstance(asked, ConcernQuestion):
            if asked.snapshot is not None:
                _sent.snapshot = asked.snapshot
            return make_plan(replace(asked.problem, snapshot=_sent.snapshot), onlooker=told)
        if isinstance(asked, TextQuestion):
            limit_time(TEMPLATE_TIMEOUT)
            return render_text(asked)
        if isinstance(asked, ClusterScope):
            return plan_in_process(asked, told)
        return bool(read_change(*asked))
    except UserInterrupt as error:
        return PlanningFailure(text=str(error), stopped=True)
    except MemoryError:
        return PlanningFailure(memory=True)
    except Exception:  # noqa: BLE001 - told to the parent, which calls it a bug
        return PlanningFailure(text=traceback.format_exc())


def main() -> None:
    import_module("gitbot.planner.plan")  # before the limits, and once for all questions
    limit(MEMORY)
    os.environ.clear()
    gc.freeze()
    serve(sys.stdin.buffer, sys.stdout.buffer, int(sys.argv[1]))


if __name__ == "__main__":  # as the module that the parent knows: it reads its classes by name
    import_module("gitbot.wiring.plan_worker").main()
