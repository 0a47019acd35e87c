"""The cumulative distribution function of the beta distribution, in floats.

Continued fraction of the regularised incomplete beta function (DLMF 8.17.22), evaluated by Lentz's
method; absolute error below 1e-12 for the parameters that loads give.
"""

from __future__ import annotations

from math import exp, lgamma, log, log1p, sqrt

_TINY, _ENOUGH, _STEPS = 1e-300, 1e-15, 1000


def probability_up_to(alpha: float, beta: float, limit: float) -> float:
    """P(X <= limit) of Beta(alpha, beta), both above 0."""
    if limit <= 0:
        return 0.0
    if limit >= 1:
        return 1.0
    if limit > (alpha + 1) / (alpha + beta + 2):
        return 1 - probability_up_to(beta, alpha, 1 - limit)
    logarithm = lgamma(alpha + beta) - lgamma(alpha) - lgamma(beta)
    logarithm += alpha * log(limit) + beta * log1p(-limit)
    return min(1.0, exp(logarithm) / alpha / _fraction(alpha, beta, limit))


def probability_of_moments(mean: float, deviation: float, limit: float) -> float | None:
    """P(X <= limit) of the beta distribution with these moments; None if none has them."""
    variance = deviation * deviation
    if not 0 <= mean <= 1 or variance <= 0 or variance >= mean * (1 - mean):
        return None
    size = max(mean * (1 - mean) / variance - 1, 5e-324)
    alpha, beta = mean * size, (1 - mean) * size
    if not alpha or not beta:
        return 0.0
    return probability_up_to(alpha, beta, limit)


def largest_deviation(mean: float) -> float:
    """The deviation that every beta distribution of this mean stays below."""
    return sqrt(mean * (1 - mean)) if 0 < mean < 1 else 0.0


def _fraction(alpha: float, beta: float, limit: float) -> float:
    """The continued fraction 1 + d1/(1 + d2/(1 + ...))."""
    value, upper, lower = 1.0, 1.0, 0.0
    for step in range(1, _STEPS):
        half = step // 2
        if step % 2:
            top = -(alpha + half) * (alpha + beta + half) * limit
            bottom = (alpha + 2 * half) * (alpha + 2 * half + 1)
        else:
            top = half * (beta - half) * limit
            bottom = (alpha + 2 * half - 1) * (alpha + 2 * half)
        part = top / bottom
        lower = 1 / (1 + part * lower or _TINY)
        upper = 1 + part / upper or _TINY
        change = upper * lower
        value *= change
        if abs(change - 1) < _ENOUGH:
            break
    return value
