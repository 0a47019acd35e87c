"""Which losses the cluster is to survive."""

from __future__ import annotations

from pydantic import Field

from gitbot.documents.fields import Value
from gitbot.model.plan.plan import LossLevel
from gitbot.settings.owners import NamespacePattern


class ResilienceSettings(Value):
    """Single losses after which every VM must find another place; plans say what they change."""

    survive: tuple[LossLevel, ...] = Field(
        default=(), strict=False, description="Node: the loss of any one; Zone: of any one."
    )
    namespaces: tuple[NamespacePattern, ...] = Field(
        default=("*",),
        strict=False,
        min_length=1,
        description="Namespaces whose VMs count; `*` matches any letters.",
    )
