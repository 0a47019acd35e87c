"""All manifests of a plan: migrations, labels of nodes in maintenance, admission policies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from gitbot.documents import write_document
from gitbot.kubernetes.objects import KubernetesObject, name_of
from gitbot.model.ledger.effect_id import label_value
from gitbot.model.plan.plan import Manifest, Move, PlacementPlan
from gitbot.rendering.migration import PREFIX, MigrationContext, migration_manifest
from gitbot.rendering.template import render_object

NODE_TEMPLATE = "node.json.j2"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeLabels:
    """A node in maintenance: the window, its state, and the occurrence that cordons it, or ""."""

    node: str
    window: str
    state: str
    cordon: str = ""


def render_manifests(
    *,
    plan: PlacementPlan,
    templates: Mapping[str, str],
    context: Callable[[Move], MigrationContext],
    nodes: Iterable[NodeLabels] = (),
) -> tuple[Manifest, ...]:
    """Migrations in the order of the plan's moves, then nodes by name."""
    made = [
        migration_manifest(move=move, context=context(move), templates=templates)
        for move in plan.moves
    ]
    ordered = sorted(nodes, key=lambda item: (item.node, item.window))
    made += [node_labels(item, templates=templates) for item in ordered]
    return tuple(manifest(obj) for obj in made)


def node_labels(labels: NodeLabels, *, templates: Mapping[str, str]) -> KubernetesObject:
    values = {
        f"{PREFIX}window": label_value(labels.window),
        f"{PREFIX}state": label_value(labels.state),
    }
    if labels.cordon:
        values[f"{PREFIX}cordon"] = labels.cordon
    given = {"name": labels.node, "labels": values, "cordoned": bool(labels.cordon)}
    return render_object(templates, NODE_TEMPLATE, given)


def manifest(obj: KubernetesObject) -> Manifest:
    name = name_of(obj)
    return Manifest(
        kind=obj["kind"],
        name=name.name,
        namespace=name.namespace,
        object=obj,
        text=write_document(obj),
    )
