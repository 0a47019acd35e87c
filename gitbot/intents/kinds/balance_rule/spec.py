"""BalanceRule: nodes that are new or back fill up, by requests."""

from typing import Annotated

from pydantic import Field

from gitbot.documents.fields import Duration, DurationOrZero, Value
from gitbot.intents.selectors import NOT_EMPTY, LabelSelector
from gitbot.intents.spec_fields import Heal, Namespace, names


class BalanceRuleSpec(Value):
    """A standing wish: no node is much fuller than another while VMs can even that out."""

    above: Annotated[int, Field(ge=10, le=100)] = Field(
        default=30,
        description="Percentage points: nothing moves unless the fullest node is fuller than the "
        "emptiest by more.",
    )
    max_moves: Annotated[int, Field(ge=1, le=1000)] = Field(
        default=5, description="At most so many VMs move at a time."
    )
    every: Duration = Field(
        default=86_400, description="How long nothing moves again after the last move."
    )
    sustained: DurationOrZero = Field(
        default=3600, description="How long the difference must be seen before a proposal."
    )
    namespaces: tuple[Namespace, ...] | None = names(
        "Only VMs of these namespaces go; absent: of all.", default=None
    )
    protected: LabelSelector | None = Field(
        default=None,
        description="VMs that stay, by the labels of their VMIs.",
        json_schema_extra=NOT_EMPTY,
    )
    heal: Heal = Field(
        default="Propose",
        description="What gitbot does: a pull request, at once, or a report.",
    )
