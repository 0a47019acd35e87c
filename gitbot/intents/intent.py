"""Intents as values: one intent, and the set of all intents of a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from gitbot.documents import Positions
from gitbot.intents.fields import Value
from gitbot.intents.kinds.freeze_window import FreezeWindowSpec
from gitbot.intents.kinds.maintenance_window import MaintenanceWindowSpec
from gitbot.intents.kinds.migration_request import MigrationRequestSpec
from gitbot.intents.kinds.placement_proposal import PlacementProposalSpec
from gitbot.intents.kinds.placement_rule import PlacementRuleSpec
from gitbot.intents.kinds.zone_anti_affinity import ZoneAntiAffinitySpec
from gitbot.model.canonical import digest
from gitbot.model.later import Later
from gitbot.model.names import IntentRef

Spec = (
    ZoneAntiAffinitySpec
    | PlacementRuleSpec
    | MaintenanceWindowSpec
    | FreezeWindowSpec
    | MigrationRequestSpec
    | PlacementProposalSpec
)
S = TypeVar("S", bound=Value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent(Later):
    """One valid document. `spec` is the value of its kind (`gitbot.intents.kinds`).

    `spec_digest` identifies the meaning of the spec: not its layout, comments, or fields written
    at their default. `index` is the number of the document in its file, from 1.
    """

    ref: IntentRef
    spec: Spec
    spec_digest: str = ""
    positions: Positions = field(compare=False, repr=False, default_factory=Positions)
    index: int = 1
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)


def spec_digest(spec: Value) -> str:
    """The digest of what a spec says."""
    return digest(spec.plain())


@dataclass(frozen=True, slots=True, kw_only=True)
class IntentSet:
    """The valid intents of one cluster, sorted by (namespace, name, kind)."""

    cluster: str
    intents: tuple[Intent, ...] = ()

    def of(self, kind: str) -> tuple[Intent, ...]:
        """The intents of one kind."""
        return tuple(intent for intent in self.intents if intent.ref.kind == kind)

    def specs(self, spec: type[S]) -> tuple[tuple[Intent, S], ...]:
        """The intents whose spec is of one type, each with its spec typed."""
        return tuple(
            (intent, intent.spec) for intent in self.intents if isinstance(intent.spec, spec)
        )

    @property
    def zone_anti_affinities(self) -> tuple[tuple[Intent, ZoneAntiAffinitySpec], ...]:
        """All ZoneAntiAffinity rules."""
        return self.specs(ZoneAntiAffinitySpec)

    @property
    def placement_rules(self) -> tuple[tuple[Intent, PlacementRuleSpec], ...]:
        """All PlacementRules."""
        return self.specs(PlacementRuleSpec)

    @property
    def maintenance_windows(self) -> tuple[tuple[Intent, MaintenanceWindowSpec], ...]:
        """All MaintenanceWindows."""
        return self.specs(MaintenanceWindowSpec)

    @property
    def freeze_windows(self) -> tuple[tuple[Intent, FreezeWindowSpec], ...]:
        """All FreezeWindows."""
        return self.specs(FreezeWindowSpec)

    @property
    def migration_requests(self) -> tuple[tuple[Intent, MigrationRequestSpec], ...]:
        """All MigrationRequests."""
        return self.specs(MigrationRequestSpec)

    @property
    def proposals(self) -> tuple[tuple[Intent, PlacementProposalSpec], ...]:
        """All PlacementProposals."""
        return self.specs(PlacementProposalSpec)

    def find(self, kind: str, name: str, namespace: str = "") -> Intent | None:
        """One intent; None where it is not there."""
        wanted = (kind, namespace, name)
        return next(
            (
                intent
                for intent in self.intents
                if (intent.ref.kind, intent.ref.namespace, intent.ref.name) == wanted
            ),
            None,
        )

    def by_id(self, intent_id: str) -> Intent | None:
        """The intent of an `IntentRef.id`; None where it is not there."""
        return next((item for item in self.intents if item.ref.id == intent_id), None)

    @property
    def digests(self) -> Mapping[str, str]:
        """Digest of each spec by `IntentRef.id`, sorted."""
        return {i.ref.id: i.spec_digest for i in sorted(self.intents, key=lambda i: i.ref.id)}
