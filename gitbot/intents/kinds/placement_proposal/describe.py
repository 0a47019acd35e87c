"""PlacementProposal as a kind: only the bot's pull requests write it."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field, WithJsonSchema

from gitbot.documents import formats, schemas
from gitbot.intents.kinds.kind import Kind, Role
from gitbot.intents.kinds.placement_proposal.check import check
from gitbot.intents.kinds.placement_proposal.spec import PlacementProposalSpec
from gitbot.intents.metadata import ClusterMetadata


class ProposalMetadata(ClusterMetadata):
    """Metadata of a proposal; its name is its concern."""

    name: Annotated[str, AfterValidator(formats.concern), WithJsonSchema(schemas.CONCERN)] = Field(
        description="The concern, as the file is called."
    )


KIND = Kind(
    name="PlacementProposal",
    spec=PlacementProposalSpec,
    namespaced=False,
    role=Role.PROPOSAL,
    check=check,
    description="A plan in a bot pull request; merging it approves its digest.",
    metadata=ProposalMetadata,
    moves=False,
    by_bot=True,
)
