"""PlacementPlan to its JSON document and back, and the digest of what was reviewed.

camelCase names, RFC 3339 instants with Z, integers only. The same plan gives the same bytes. The
ledger keeps these documents as `plans/<digest>.json`; execution reads them back.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gitbot.errors import InvalidInput
from gitbot.model import plan_decode, plan_encode
from gitbot.model.canonical import digest as canonical_digest
from gitbot.model.findings import Finding, finding_json
from gitbot.model.instants import format_instant, parse_instant
from gitbot.model.objects import Json, KubernetesObject
from gitbot.model.plan import PlacementPlan

API_VERSION = "placement.gitbot.dev/v1alpha1"
KIND = "PlacementPlan"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanInputs:
    """What a plan was made from, besides intents and snapshot, which the plan itself names.

    `commit` is the commit that the intents were read at ("" for a working tree), `configuration`
    the digest of the configuration, `engine` names and versions of what computed it.
    """

    commit: str = ""
    configuration: str = ""
    engine: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanDocument:
    """A document read back. `expires_at` limits the merge only (seconds UTC)."""

    plan: PlacementPlan
    digest: str
    expires_at: int
    inputs: PlanInputs
    manifests: tuple[KubernetesObject, ...] = ()


def plan_digest(plan: PlacementPlan, manifests: Sequence[KubernetesObject]) -> str:
    """Identity of what was reviewed: `sha256:` and hex.

    Covers cluster, moves (id, request, vm, from, to, pin, addedNodeSelector, wave), rules before
    and after, intents with the digest of their spec, manifests without annotations. Files, lines,
    commits, times, estimates and the engine are outside.
    """
    return canonical_digest(
        {
            "cluster": plan.cluster,
            "moves": [plan_encode.move_identity(move) for move in plan.moves],
            "rules": [
                {"intent": rule.intent.id, "before": rule.before, "after": rule.after}
                for rule in plan.rules
            ],
            "intents": dict(plan.intents),
            "manifests": [_without_annotations(manifest) for manifest in manifests],
        }
    )


def plan_document(
    plan: PlacementPlan,
    *,
    manifests: Sequence[KubernetesObject],
    expires_at: int,
    inputs: PlanInputs,
    findings: Sequence[Finding] = (),
) -> Json:
    """The document of a plan, its verdict's findings and its manifests (kind PlacementPlan)."""
    snapshot = plan.snapshot
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "cluster": plan.cluster,
        "digest": plan_digest(plan, manifests),
        "expiresAt": format_instant(expires_at),
        "inputs": {
            "commit": inputs.commit,
            "intents": dict(sorted(plan.intents.items())),
            "configuration": inputs.configuration,
            "snapshot": {"digest": snapshot.digest, "takenAt": format_instant(snapshot.taken_at)},
            "engine": dict(sorted(inputs.engine.items())),
        },
        **plan_encode.plan_body(plan),
        "manifests": [dict(manifest) for manifest in manifests],
        "findings": [finding_json(finding) for finding in findings],
    }


def plan_bytes(document: Json) -> bytes:
    """The document as it is stored and printed: indented JSON in ASCII with a final line feed."""
    return (json.dumps(document, indent=2) + "\n").encode("ascii")


def read_plan_document(document: Json | bytes | str) -> PlacementPlan:
    """The plan of a document. Raises InvalidInput for anything else."""
    return read_plan(document).plan


def read_plan(document: Json | bytes | str) -> PlanDocument:
    """A whole document, its digest recomputed. Raises InvalidInput where it is not one."""
    data = _loaded(document)
    if data.get("apiVersion") != API_VERSION or data.get("kind") != KIND:
        found = f"{data.get('apiVersion')!r} {data.get('kind')!r}"
        raise InvalidInput(f"not a plan: found {found}, expected {API_VERSION} {KIND}")
    try:
        read = _read(data)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InvalidInput(f"not a plan document: {type(error).__name__}: {error}") from error
    if read.digest != plan_digest(read.plan, read.manifests):
        raise InvalidInput(
            f"plan {read.digest} does not hold what its digest says",
            hint="the document was edited by hand; make the plan anew",
        )
    return read


def _loaded(document: Json | bytes | str) -> Mapping[str, Any]:
    if isinstance(document, bytes | str):
        try:
            document = json.loads(document)
        except ValueError as error:
            raise InvalidInput(f"not a plan document: {error}") from error
    if not isinstance(document, Mapping):
        raise InvalidInput(f"not a plan document: found {type(document).__name__}, not an object")
    return document


def _read(data: Mapping[str, Any]) -> PlanDocument:
    inputs = data["inputs"]
    return PlanDocument(
        plan=plan_decode.plan(data),
        digest=data["digest"],
        expires_at=parse_instant(data["expiresAt"]),
        inputs=PlanInputs(
            commit=inputs["commit"],
            configuration=inputs["configuration"],
            engine=dict(inputs["engine"]),
        ),
        manifests=tuple(data["manifests"]),
    )


def _without_annotations(manifest: KubernetesObject) -> dict[str, Any]:
    metadata = {
        key: value for key, value in manifest.get("metadata", {}).items() if key != "annotations"
    }
    return {**manifest, "metadata": metadata}
