"""Intents as values: one intent, and the set of all intents of a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from gitbot.calendar import Holiday
from gitbot.documents import Positions
from gitbot.documents.fields import Value
from gitbot.intents.kinds.freeze_window.spec import FreezeWindowSpec
from gitbot.intents.kinds.maintenance_window.spec import MaintenanceWindowSpec
from gitbot.intents.kinds.migration_request.spec import MigrationRequestSpec
from gitbot.intents.kinds.placement_proposal.spec import PlacementProposalSpec
from gitbot.model.lazy_fields import LazyFields
from gitbot.model.text.canonical import digest
from gitbot.model.text.names import IntentRef

S = TypeVar("S", bound=Value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent(LazyFields):
    """One valid document. `spec` is the value of its kind (`gitbot.intents.kinds`).

    `spec_digest` identifies the meaning of the spec and ignores layout, comments and fields at
    their default. `index` is the number of the document in its file, from 1. `holidays` are the
    events of the calendar file that it names.
    """

    ref: IntentRef
    spec: Value
    spec_digest: str = ""
    positions: Positions = field(compare=False, repr=False, default_factory=Positions)
    index: int = 1
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    holidays: tuple[Holiday, ...] = ()


def spec_digest(spec: Value) -> str:
    return digest(spec.plain())


@dataclass(frozen=True, slots=True, kw_only=True)
class IntentSet:
    """The valid intents of one cluster, sorted by (namespace, name, kind)."""

    cluster: str
    intents: tuple[Intent, ...] = ()
    _specs: dict[type, Any] = field(default_factory=dict, init=False, compare=False, repr=False)
    _named: dict[Any, Intent] = field(default_factory=dict, init=False, compare=False, repr=False)
    _ids: dict[str, Intent] = field(default_factory=dict, init=False, compare=False, repr=False)

    def of(self, kind: str) -> tuple[Intent, ...]:
        return tuple(intent for intent in self.intents if intent.ref.kind == kind)

    def specs(self, spec: type[S]) -> tuple[tuple[Intent, S], ...]:
        if spec not in self._specs:  # asked for each opening of each window
            self._specs[spec] = tuple(
                (intent, intent.spec) for intent in self.intents if isinstance(intent.spec, spec)
            )
        found: tuple[tuple[Intent, S], ...] = self._specs[spec]
        return found

    @property
    def maintenance_windows(self) -> tuple[tuple[Intent, MaintenanceWindowSpec], ...]:
        return self.specs(MaintenanceWindowSpec)

    @property
    def freeze_windows(self) -> tuple[tuple[Intent, FreezeWindowSpec], ...]:
        return self.specs(FreezeWindowSpec)

    @property
    def migration_requests(self) -> tuple[tuple[Intent, MigrationRequestSpec], ...]:
        return self.specs(MigrationRequestSpec)

    @property
    def proposals(self) -> tuple[tuple[Intent, PlacementProposalSpec], ...]:
        return self.specs(PlacementProposalSpec)

    def find(self, kind: str, name: str, namespace: str = "") -> Intent | None:
        if not self._named:  # asked for each request
            for intent in reversed(self.intents):
                self._named[intent.ref.kind, intent.ref.namespace, intent.ref.name] = intent
        return self._named.get((kind, namespace, name))

    def window(self, name: str) -> tuple[Intent, MaintenanceWindowSpec] | None:
        found = self.find("MaintenanceWindow", name)
        if found is None or not isinstance(found.spec, MaintenanceWindowSpec):
            return None
        return found, found.spec

    def request(self, ref: IntentRef) -> tuple[Intent, MigrationRequestSpec] | None:
        """The MigrationRequest of a reference; None if it is not there, or of another kind."""
        found = self.find(ref.kind, ref.name, ref.namespace)
        if found is None or not isinstance(found.spec, MigrationRequestSpec):
            return None
        return found, found.spec

    def by_id(self, intent_id: str) -> Intent | None:
        if not self._ids:
            self._ids.update((intent.ref.id, intent) for intent in reversed(self.intents))
        return self._ids.get(intent_id)

    @property
    def digests(self) -> Mapping[str, str]:
        return {i.ref.id: i.spec_digest for i in sorted(self.intents, key=lambda i: i.ref.id)}
