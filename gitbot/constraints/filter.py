"""The shape of one filter: kube-scheduler's plugin as a mask over nodes and as words for one."""

from __future__ import annotations

from typing import Protocol

from gitbot.constraints.verdicts import Rejection
from gitbot.model.columns import Mask


class Filter(Protocol):
    """One plugin prepared for one pod in one state.

    `mask` and `reject` answer the same question and must agree on every node (a law in the tests).
    """

    def whole(self) -> Rejection | None:
        """The refusal of the pod on every node (PreFilter), None where there is none."""

    def mask(self) -> Mask:
        """The nodes that pass, shape (nodes,)."""

    def reject(self, node: int) -> Rejection | None:
        """Why the node of that number does not pass; None where it passes."""
