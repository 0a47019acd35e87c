"""Documents to intents and back. Only `compile` turns intents into rules and goals."""

from __future__ import annotations

from gitbot.intents.approvals_needed import OwnershipRules, needs_of
from gitbot.intents.codeowners import CODEOWNERS
from gitbot.intents.file_layout import (
    is_below,
    is_ours,
    is_proposal_file,
    is_read,
    proposal_file,
)
from gitbot.intents.folder_owners import owner_of
from gitbot.intents.holidays import freeze_times
from gitbot.intents.intent import Intent, IntentSet
from gitbot.intents.kinds.freeze_window.spec import FreezeWindowSpec
from gitbot.intents.kinds.kind import Healing, Kind, Role
from gitbot.intents.kinds.maintenance_window.spec import AUTO, MaintenanceWindowSpec, NodesSpec
from gitbot.intents.kinds.migration_request.spec import MigrationRequestSpec
from gitbot.intents.kinds.placement_proposal.spec import PlacementProposalSpec
from gitbot.intents.misleading_labels import misleading_labels
from gitbot.intents.never_open import stops, without_finished, without_repeated
from gitbot.intents.reader import DUPLICATE_IDENTITY, UNKNOWN_WINDOW, read_intents
from gitbot.intents.registry import KINDS
from gitbot.intents.schedules import ScheduleSpec
from gitbot.intents.window_conflicts import TOO_SHORT, conflicts, without_clockless

__all__ = [
    "AUTO",
    "CODEOWNERS",
    "DUPLICATE_IDENTITY",
    "KINDS",
    "TOO_SHORT",
    "UNKNOWN_WINDOW",
    "FreezeWindowSpec",
    "Healing",
    "Intent",
    "IntentSet",
    "Kind",
    "MaintenanceWindowSpec",
    "MigrationRequestSpec",
    "NodesSpec",
    "OwnershipRules",
    "PlacementProposalSpec",
    "Role",
    "ScheduleSpec",
    "conflicts",
    "freeze_times",
    "is_below",
    "is_ours",
    "is_proposal_file",
    "is_read",
    "misleading_labels",
    "needs_of",
    "owner_of",
    "proposal_file",
    "read_intents",
    "stops",
    "without_clockless",
    "without_finished",
    "without_repeated",
]
