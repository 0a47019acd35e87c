"""How much of a long search is played when: a part at each merge, the rest at night."""

from collections.abc import Iterable
from typing import Any

import pytest


def some_at_merge(cases: Iterable[Any], count: int) -> list[Any]:
    """Parameters of a test: the first `count` are of tier slow, the others of tier deep."""
    marks = [pytest.mark.slow] * count
    return [pytest.param(case, marks=marks.pop() if marks else pytest.mark.deep) for case in cases]
