"""The port to an exact solver: HiGHS, of the extra `solver`.

The budget is a count of branches, never seconds, in one thread: the same answer on every run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gitbot.errors import UsageError

BRANCHES = 100
_ENOUGH = 0.5  # costs are whole numbers: nothing lies between two of them


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """The amounts of these options, where they are taken, are at most `most` together."""

    options: Sequence[int]
    amounts: Sequence[int]
    most: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """Options by number, with costs. Of each choice exactly one is taken, within the limits."""

    costs: Sequence[int]
    choices: Sequence[Sequence[int]]
    limits: Sequence[Limit]


def cheapest(task: Assignment) -> list[int] | None:
    """The options of the cheapest solution found within BRANCHES, sorted; None if there is none.

    Raises UsageError if HiGHS is not installed.
    """
    try:
        import highspy  # noqa: PLC0415 - few plans need it, and it is optional
    except ImportError as error:
        raise UsageError(
            "solver: HiGHS: found no package highspy, expected it where gitbot plans",
            hint="pip install 'gitbot[solver]', or remove `solver` from .gitbot.yaml",
        ) from error

    solver = highspy.Highs()
    for name, value in (
        ("output_flag", False),
        ("threads", 1),
        ("random_seed", 0),
        ("mip_rel_gap", 0.0),
        ("mip_abs_gap", _ENOUGH),
        ("mip_max_nodes", BRANCHES),
    ):
        solver.setOptionValue(name, value)
    rows = [(options, [1] * len(options), 1, 1) for options in task.choices]
    rows += [(limit.options, list(limit.amounts), 0, limit.most) for limit in task.limits]
    model = highspy.HighsLp()
    count = len(task.costs)
    model.num_col_, model.num_row_ = count, len(rows)
    model.col_cost_ = np.array(task.costs, dtype=float)
    model.col_lower_, model.col_upper_ = np.zeros(count), np.ones(count)
    model.row_lower_ = np.array([row[2] for row in rows], dtype=float)
    model.row_upper_ = np.array([row[3] for row in rows], dtype=float)
    matrix = model.a_matrix_
    matrix.format_ = highspy.MatrixFormat.kRowwise
    matrix.start_ = np.cumsum([0, *(len(row[0]) for row in rows)]).astype(np.int32)
    matrix.index_ = np.array([option for row in rows for option in row[0]], dtype=np.int32)
    matrix.value_ = np.array([amount for row in rows for amount in row[1]], dtype=float)
    model.integrality_ = [highspy.HighsVarType.kInteger] * count
    solver.passModel(model)
    solver.run()
    if solver.getInfo().primal_solution_status != highspy.SolutionStatus.kSolutionStatusFeasible:
        return None
    return np.flatnonzero(np.array(solver.getSolution().col_value) > _ENOUGH).tolist()
