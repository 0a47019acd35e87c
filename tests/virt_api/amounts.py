"""Quantities as Kubernetes prints them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from gitbot.kubernetes.quantities import NANO, nanos


def canonical(value: Any) -> str:
    """A quantity as Kubernetes prints it: the largest suffix of its notation that keeps it whole.

    Source: apimachinery, api/resource/quantity.go, CanonicalizeBytes. `3000M` becomes `3G`, `1.5Gi`
    becomes `1536Mi`; exponents become decimals.
    """
    amount = Fraction(nanos(value), NANO)
    text = str(value).strip()
    if text.endswith("i"):
        if amount.denominator == 1:
            number, step, suffixes = int(amount), 1024, ("Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
            return _scaled(number, step, suffixes)
        text = ""
    if amount.denominator == 1:
        return _scaled(int(amount), 1000, ("k", "M", "G", "T", "P", "E"))
    for suffix, power in (("m", 3), ("u", 6), ("n", 9)):
        if (amount * 10**power).denominator == 1:
            return f"{int(amount * 10**power)}{suffix}"
    return text


def _scaled(number: int, step: int, suffixes: tuple[str, ...]) -> str:
    chosen = ""
    for suffix in suffixes:
        if not number or number % step:
            break
        number, chosen = number // step, suffix
    return f"{number}{chosen}"
