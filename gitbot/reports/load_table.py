"""Measured load in columns: every value with its metric, age, source, and what is missing."""

from __future__ import annotations

from gitbot.model.cluster.load import METRICS, ClusterLoad, percent
from gitbot.reports.escape import terminal
from gitbot.reports.table import columns


def load_table(load: ClusterLoad, now: int) -> str:
    """One line for each value, with a blank line before; "" if nobody asked for load."""
    if not load.values and not load.missing:
        return ""
    rows = [
        [
            value.node,
            value.metric,
            percent(value.amount),
            f"{max(0, now - value.time)} s",
            value.source,
            METRICS[value.metric],
        ]
        for value in load.values
    ]
    lines = columns(["NODE", "LOAD", "VALUE", "AGE", "SOURCE", "WHAT"], rows) if rows else ""
    return "\n" + lines + "".join(f"load: {terminal(words)}\n" for words in load.missing)
