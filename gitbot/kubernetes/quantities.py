"""Kubernetes quantities as exact integers. Source: apimachinery, api/resource/quantity.go.

The smallest unit is the nano: a quantity is an integer number of nanos, rounded up as the API
server does. Floats are not used.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from math import ceil
from typing import Any

NANO = 1_000_000_000
_INT64 = 2**63 - 1
_LONGEST, _SHOWN = 1000, 60  # characters
_MOST = 2**61  # the sum of a few still fits an int64
_BINARY = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_QUANTITY = re.compile(
    r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))(Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE]|[eE][+-]?[0-9]{1,3})?"
)


@lru_cache(maxsize=8192)
def _nanos_of_text(text: str) -> int:
    match = _QUANTITY.fullmatch(text) if len(text) <= _LONGEST else None
    if match is None:
        raise ValueError(f"{text[:_SHOWN]!r} is not a Kubernetes quantity (as 500m, 2, 4Gi)")
    number, suffix = Fraction(match[1]), match[2] or ""
    if suffix in _BINARY:
        most = Fraction(_INT64)  # Kubernetes caps this notation, and no other
        number = max(-most, min(most, number * 1024 ** _BINARY[suffix]))
        factor = Fraction(1)
    elif suffix in _DECIMAL:
        factor = Fraction(10) ** _DECIMAL[suffix]
    else:
        factor = Fraction(10) ** int(suffix[1:])
    return ceil(number * factor * NANO)


def nanos(value: Any) -> int:
    """A quantity (text or JSON number) in nanos, rounded up. ValueError if malformed."""
    return _nanos_of_text(str(value).strip())


def milli(value: Any) -> int:
    """A quantity in thousandths, rounded up: cpu."""
    return -(-nanos(value) // 1_000_000)


def whole(value: Any) -> int:
    """A quantity in whole units, rounded up: bytes, counts."""
    return -(-nanos(value) // NANO)


def units_of(resource: str, value: Any) -> int:
    """A quantity in the scheduler's unit: milli for cpu, whole units for everything else."""
    return held_in_int64(milli(value) if resource == "cpu" else whole(value))


def not_negative(resource: str, value: Any, amount: int) -> int:
    """The amount. ValueError if negative: API servers refuse that, and it would add room."""
    if amount < 0:
        raise ValueError(f"{resource}: found {value!r}, expected 0 or more")
    return amount


def held_in_int64(units: int) -> int:
    """An amount as kube-scheduler stores it: 0 if an int64 overflows (Quantity.ScaledValue).

    Amounts above two exbi count as overflow; no cluster has them.
    """
    return 0 if abs(units) > _INT64 else max(-_MOST, min(_MOST, units))
