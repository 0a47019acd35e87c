"""A plan to its document and back, and the digest of what was reviewed.

The same plan gives the same bytes. The ledger keeps these documents as `plans/<digest>.json`;
execution reads them back.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from types import MappingProxyType
from typing import Any

import msgspec

from gitbot.errors import InvalidInput
from gitbot.kubernetes.objects import Json, KubernetesObject
from gitbot.model.ledger.request_id import RequestId
from gitbot.model.plan.findings import Finding
from gitbot.model.plan.plan import Move, MoveRef, PlacementPlan, Resilience
from gitbot.model.text.canonical import digest as canonical_digest
from gitbot.model.text.instants import format_instant
from gitbot.model.text.names import API_VERSION
from gitbot.published.document import (
    Part,
    decoded,
    encoded,
    fields_of,
    indented,
    json_decoder,
    misfit,
    published,
)
from gitbot.published.plan import PlannedMove, PublishedPlan, ReviewedMove, SingleLosses

KIND = "PlacementPlan"
_OF_PLAN = (
    *("cluster", "limits", "moves", "holds", "rules", "waves", "bound", "minimised", "drains"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanInputs:
    """The inputs of a plan besides intents and snapshot, which the plan itself contains.

    `commit` is the commit of the intents ("" for a working tree), `configuration` the digest of the
    configuration, `engine` the names and versions of the programs that computed it.
    """

    commit: str = ""
    configuration: str = ""
    engine: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanDocument:
    """A document that was read back. `expires_at` limits the merge only (UTC seconds)."""

    plan: PlacementPlan
    digest: str
    expires_at: int
    inputs: PlanInputs
    manifests: tuple[KubernetesObject, ...] = ()


def plan_digest(plan: PlacementPlan, manifests: Sequence[KubernetesObject]) -> str:
    """Identity of what was reviewed: `sha256:` and hex.

    Covers cluster, moves (as `ReviewedMove`), rules before and after, intents with the digest of
    their spec, manifests without annotations. Does not cover files, lines, commits, times,
    estimates and the engine, but for when a drain with `lead: Auto` begins: plans without such a
    drain keep the digest that they had before there was one.
    """
    begins = {request: format_instant(at) for request, at in plan.begins.items()}
    return canonical_digest(
        {
            "cluster": plan.cluster,
            "moves": [_reviewed(move) for move in plan.moves],
            "rules": [
                {"intent": rule.intent.id, "before": rule.before, "after": rule.after}
                for rule in plan.rules
            ],
            "intents": dict(plan.intents),
            "manifests": [_without_annotations(manifest) for manifest in manifests],
            **({"begins": begins} if begins else {}),
        }
    )


def _reviewed(move: Move) -> dict[str, Any]:
    """The fields of a move that the digest covers. Empty dependencies are left out.

    The first wave waits for no move, and older plans have none: their digests must stay the same.
    """
    fields: dict[str, Any] = encoded(published(move, ReviewedMove))
    if move.after is None or not move.wave:
        del fields["after"]
    if not move.after_return:
        del fields["afterReturn"]
    return fields


def plan_document(
    plan: PlacementPlan,
    *,
    manifests: Sequence[KubernetesObject],
    expires_at: int,
    inputs: PlanInputs,
    findings: Sequence[Finding] = (),
    resilience: Iterable[Resilience] = (),
    waits: Mapping[MoveRef, str] = MappingProxyType({}),
) -> Json:
    fields = {
        **{name: getattr(plan, name) for name in _OF_PLAN},
        "digest": plan_digest(plan, manifests),
        "expiresAt": expires_at,
        "inputs": {
            "commit": inputs.commit,
            "intents": plan.intents,
            "configuration": inputs.configuration,
            "snapshot": plan.snapshot,
            "engine": inputs.engine,
        },
        "manifests": manifests,
        "findings": findings,
        "resilience": resilience_fields(resilience),
        "waits": [
            {"request": ref.request, "id": ref.id, "for": words}
            for ref, words in sorted(waits.items())
        ],
    }
    document: Json = encoded(published(fields, PublishedPlan))
    return document


def resilience_fields(found: Iterable[Resilience]) -> list[dict[str, Any]]:
    return [
        encoded(
            published(
                {
                    "level": one.level,
                    "before": one.before,
                    "after": one.after,
                    "worse": [item.lost for item in one.worse],
                },
                SingleLosses,
            )
        )
        for one in found
    ]


def plan_makers(plan: PlacementPlan) -> dict[str, Callable[[], Any]]:
    """Functions that compute each field of the plan's part of a document."""

    def made(name: str, of: Any) -> Any:
        return encoded(published(getattr(plan, name), of))

    return {
        field.name: partial(made, field.name, field.type)
        for field in fields_of(PublishedPlan)
        if field.name in _OF_PLAN
    }


def plan_fields(plan: PlacementPlan) -> dict[str, Any]:
    """The plan's part of a document, before manifests and findings are known."""
    return {name: make() for name, make in plan_makers(plan).items()}


def moves_fields(moves: tuple[Move, ...]) -> list[dict[str, Any]]:
    fields: list[dict[str, Any]] = encoded(published(moves, tuple[PlannedMove, ...]))
    return fields


def plan_bytes(document: Json) -> bytes:
    """As stored and printed: indented JSON in ASCII with a final line feed."""
    return (indented(document) + "\n").encode("ascii")


def read_plan(document: Json | bytes | str) -> PlanDocument:
    """A whole document, its digest recomputed. Raises InvalidInput for anything else."""
    data = _loaded(document)
    if data.get("apiVersion") != API_VERSION or data.get("kind") != KIND:
        found = f"{data.get('apiVersion')!r} {data.get('kind')!r}"
        raise InvalidInput(f"not a plan: found {found}, expected {API_VERSION} {KIND}")
    try:
        read = _read(decoded(data, PublishedPlan))
    except msgspec.ValidationError as error:
        raise InvalidInput(f"not a plan document: {misfit(error, data)}") from error
    if read.digest != plan_digest(read.plan, read.manifests):
        raise InvalidInput(
            f"plan {read.digest} does not hold what its digest says",
            hint="the document was edited by hand; make the plan again",
        )
    return read


class _Estimate(Part, frozen=True):
    id: int
    request: RequestId
    estimated_seconds: int


class _Estimates(Part, frozen=True):
    moves: list[_Estimate]


def estimates(document: bytes) -> Mapping[tuple[RequestId, int], int]:
    """Estimated seconds of each move, by its request in the plan and its id.

    It reads nothing else, so that many plans take little time. Raises ValueError for anything else.
    """
    moves = _estimates().decode(document).moves
    return {(move.request, move.id): move.estimated_seconds for move in moves}


@cache
def _estimates() -> msgspec.json.Decoder[_Estimates]:
    return json_decoder(_Estimates)


def _loaded(document: Json | bytes | str) -> Mapping[str, Any]:
    if isinstance(document, bytes | str):
        try:
            document = json.loads(document)
        except ValueError as error:
            raise InvalidInput(f"not a plan document: {error}") from error
    if not isinstance(document, Mapping):
        raise InvalidInput(f"not a plan document: found {type(document).__name__}, not an object")
    return document


def _read(document: PublishedPlan) -> PlanDocument:
    fields = {name: getattr(document, name) for name in _OF_PLAN}
    inputs = document.inputs
    plan = published(
        {**fields, "intents": inputs.intents, "snapshot": inputs.snapshot}, PlacementPlan
    )
    return PlanDocument(
        plan=plan,
        digest=document.digest,
        expires_at=int(document.expires_at),
        inputs=published(inputs, PlanInputs),
        manifests=tuple(document.manifests),
    )


def _without_annotations(manifest: KubernetesObject) -> dict[str, Any]:
    metadata = {
        key: value for key, value in manifest.get("metadata", {}).items() if key != "annotations"
    }
    return {**manifest, "metadata": metadata}
