"""Kubernetes' quantity library: apiserver, pkg/cel/library/quantity.go.

`whole` says whether asInteger answers: Kubernetes looks at how a quantity is written, not at its
value, so 1000m has no integer and 1k has one. It is 1 or 1.0, which CEL holds equal, so that equal
amounts are equal.
"""

from __future__ import annotations

import re
from fractions import Fraction

from gitbot.kubernetes.quantities import NANO, nanos
from gitbot.policy.library.values import CelFunction, Opaque, opaque, succeeds

QUANTITY = "kubernetes.Quantity"
_DIGITS = 18  # that fit an int64 for sure
_INT64 = 2**63 - 1
_PARTS = re.compile(r"[+-]?0*([0-9]*)\.?([0-9]*)(.*)")
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}


def _quantity(text: str) -> Opaque:
    if text != text.strip():
        raise ValueError(f"{text!r} is not a quantity")
    # Kubernetes reads a suffix without a number as 0
    amount = nanos(f"0{text}" if text and text in {**_BINARY, **_DECIMAL} else text)
    return _made(amount, whole=_is_whole(text) and abs(amount) <= _INT64 * NANO)


def _made(amount: int, *, whole: bool) -> Opaque:
    return opaque("Quantity", nanos=str(amount), whole=1 if whole else 1.0)


def _is_whole(text: str) -> bool:
    """Whether ParseQuantity keeps it as an int64 with a scale of 0 or more."""
    match = _PARTS.fullmatch(text)
    assert match is not None
    number, decimals, suffix = match.groups()
    if suffix in _BINARY:
        return not decimals and 14 - len(number or "0") - int(_BINARY[suffix] * 3 / 10) >= 0
    exponent = _DECIMAL.get(suffix)
    scale = (int(suffix[1:]) if exponent is None else exponent) - len(decimals)
    return len(number or "0") + len(decimals) <= _DIGITS and scale >= 0


def _amount(value: Opaque) -> int:
    return int(value["nanos"])


def _whole(value: Opaque) -> bool:
    return isinstance(value["whole"], int)


def _sum(one: Opaque, other: Opaque | int, sign: int) -> Opaque:
    if isinstance(other, int):
        other = _made(other * NANO, whole=True)
    amount = _amount(one) + sign * _amount(other)
    both = _whole(one) and _whole(other)
    if not _amount(one):
        both = _whole(other)
    elif not _amount(other):
        both = _whole(one)
    return _made(amount, whole=both and abs(amount) <= _INT64 * NANO)


def _integer(value: Opaque) -> int:
    if not _whole(value):
        raise ValueError("cannot convert value to integer")
    return _amount(value) // NANO


def _compare(one: Opaque, other: Opaque) -> int:
    return (_amount(one) > _amount(other)) - (_amount(one) < _amount(other))


def _sign(value: Opaque) -> int:
    return (_amount(value) > 0) - (_amount(value) < 0)


def _float(value: Opaque) -> float:
    return float(Fraction(_amount(value), NANO))


_TWO = (QUANTITY, QUANTITY)
_INT = (QUANTITY, "int")
FUNCTIONS = (
    CelFunction(
        id="string_to_quantity",
        function="quantity",
        parameters=("string",),
        gives=QUANTITY,
        make=_quantity,
        member=False,
    ),
    CelFunction(
        id="is_quantity_string",
        function="isQuantity",
        parameters=("string",),
        gives="bool",
        make=succeeds(_quantity),
        member=False,
    ),
    CelFunction(
        id="quantity_sign",
        function="sign",
        parameters=(QUANTITY,),
        gives="int",
        make=_sign,
        member=False,
    ),
    CelFunction(
        id="quantity_is_greater_than",
        function="isGreaterThan",
        parameters=_TWO,
        gives="bool",
        make=lambda one, other: _compare(one, other) > 0,
    ),
    CelFunction(
        id="quantity_is_less_than",
        function="isLessThan",
        parameters=_TWO,
        gives="bool",
        make=lambda one, other: _compare(one, other) < 0,
    ),
    CelFunction(
        id="quantity_compare_to", function="compareTo", parameters=_TWO, gives="int", make=_compare
    ),
    CelFunction(
        id="quantity_get_float",
        function="asApproximateFloat",
        parameters=(QUANTITY,),
        gives="double",
        make=_float,
    ),
    CelFunction(
        id="quantity_get_int",
        function="asInteger",
        parameters=(QUANTITY,),
        gives="int",
        make=_integer,
    ),
    CelFunction(
        id="quantity_is_integer",
        function="isInteger",
        parameters=(QUANTITY,),
        gives="bool",
        make=_whole,
    ),
    CelFunction(
        id="quantity_add",
        function="add",
        parameters=_TWO,
        gives=QUANTITY,
        make=lambda one, other: _sum(one, other, 1),
    ),
    CelFunction(
        id="quantity_add_int",
        function="add",
        parameters=_INT,
        gives=QUANTITY,
        make=lambda one, other: _sum(one, other, 1),
    ),
    CelFunction(
        id="quantity_sub",
        function="sub",
        parameters=_TWO,
        gives=QUANTITY,
        make=lambda one, other: _sum(one, other, -1),
    ),
    CelFunction(
        id="quantity_sub_int",
        function="sub",
        parameters=_INT,
        gives=QUANTITY,
        make=lambda one, other: _sum(one, other, -1),
    ),
)
