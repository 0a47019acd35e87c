"""PlacementProposal: a plan as a file in a bot pull request; merging it approves its digest."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field
from pydantic_core import PydanticKnownError

from gitbot.documents.fields import Instant, Text, Value
from gitbot.intents.kinds.table import TABLE
from gitbot.intents.spec_fields import UNIQUE, Digest, IntentName, Labels, Name, Namespace
from gitbot.model.text.names import OWN_TERMS

Count = Annotated[int, Field(ge=0, le=10**9)]


def _kinds() -> list[str]:
    """The kinds for which a proposal may carry moves."""
    return [*(kind.name for kind in TABLE.values() if kind.moves), *OWN_TERMS]


def _check_kind(name: str) -> str:
    if name not in _kinds():
        expected = " or ".join(f"'{kind}'" for kind in _kinds())
        raise PydanticKnownError("literal_error", {"expected": expected})
    return name


def _add_kinds(schema: dict[str, Any]) -> None:
    schema["enum"] = _kinds()


class ProposedIntent(Value):
    """The intent that the moves are for, or the VM whose own terms they heal."""

    kind: Annotated[str, AfterValidator(_check_kind)] = Field(
        description="Kind of the intent.", json_schema_extra=_add_kinds
    )
    namespace: Namespace | None = Field(default=None, description="Its namespace, if it has one.")
    name: IntentName = Field(description="Its name.")


class ProposedVm(Value):
    """A VM as the plan saw it."""

    namespace: Namespace = Field(description="Namespace of the VMI.")
    name: Name = Field(description="Name of the VMI.")
    uid: Text = Field(description="UID of the VMI.")


class ProposedPlace(Value):
    """A node and its zone."""

    node: Name = Field(description="Name of the node.")
    zone: str = Field(default="", max_length=63, description="Its zone, empty if it has none.")


class ProposedMove(Value):
    """One live migration."""

    id: Annotated[int, Field(ge=1, le=10**9)] = Field(description="Number within the request.")
    request: Text = Field(description="Request in the ledger.")
    group: Text = Field(description="Moves that stand or fall together.")
    vm: ProposedVm = Field(description="Which VM.")
    source: ProposedPlace = Field(alias="from", description="Where it is.")
    to: ProposedPlace = Field(description="Where it goes.")
    pin: Literal["Node", "Zone", "None"] = Field(description="What addedNodeSelector demands.")
    added_node_selector: Labels = Field(
        default_factory=dict, description="The added node selector."
    )
    allowed_nodes: tuple[Name, ...] = Field(
        default=(),
        strict=False,
        description="All nodes on which it may land.",
        json_schema_extra=UNIQUE,
    )
    wave: Count = Field(description="Moves of one wave may run together.")
    why: str = Field(default="", max_length=4000, description="Why, in words.")


class PlacementProposalSpec(Value):
    """What merging approves: exactly this digest, until expiresAt."""

    intent: ProposedIntent = Field(description="The intent that the moves are for.")
    request: Text = Field(description="Ledger id of what the moves are for.")
    occurrence: Text | None = Field(
        default=None, description="Which opening of a window, as 20261206T210000Z."
    )
    digest: Digest = Field(description="Digest of the plan that was shown.")
    expires_at: Instant = Field(description="A merge after this time approves nothing.")
    moves: tuple[ProposedMove, ...] = Field(
        strict=False, description="The moves, in order; none if nodes are only cordoned."
    )
