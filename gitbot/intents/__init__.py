"""Documents to intents and back. Only `compile` turns intents into rules and goals."""

from __future__ import annotations

from gitbot.intents.codeowners import PLACES as CODEOWNERS_PLACES
from gitbot.intents.conflicts import TOO_SHORT, conflicts, without_clockless
from gitbot.intents.holidays import freeze_times
from gitbot.intents.intent import Intent, IntentSet
from gitbot.intents.kinds.freeze_window import FreezeWindowSpec
from gitbot.intents.kinds.load_rule import LoadRuleSpec
from gitbot.intents.kinds.maintenance_window import MaintenanceWindowSpec, NodesSpec
from gitbot.intents.kinds.migration_request import MigrationRequestSpec
from gitbot.intents.kinds.placement_proposal import PlacementProposalSpec
from gitbot.intents.kinds.placement_rule import PlacementRuleSpec
from gitbot.intents.kinds.zone_anti_affinity import ZoneAntiAffinitySpec
from gitbot.intents.manifests import misleading_labels
from gitbot.intents.needs import Ownership, needs_of
from gitbot.intents.openings import stops, without_finished
from gitbot.intents.places import is_below, is_ours, is_read, proposal_file
from gitbot.intents.reader import read_intents
from gitbot.intents.schedules import ScheduleSpec

__all__ = [
    "CODEOWNERS_PLACES",
    "TOO_SHORT",
    "FreezeWindowSpec",
    "Intent",
    "IntentSet",
    "LoadRuleSpec",
    "MaintenanceWindowSpec",
    "MigrationRequestSpec",
    "NodesSpec",
    "Ownership",
    "PlacementProposalSpec",
    "PlacementRuleSpec",
    "ScheduleSpec",
    "ZoneAntiAffinitySpec",
    "conflicts",
    "freeze_times",
    "is_below",
    "is_ours",
    "is_read",
    "misleading_labels",
    "needs_of",
    "proposal_file",
    "read_intents",
    "stops",
    "without_clockless",
    "without_finished",
]
