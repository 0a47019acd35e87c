"""Label selectors and node selectors, in Kubernetes' words and by Kubernetes' rules.

Source: apimachinery pkg/apis/meta/v1/validation (label selectors) and kubernetes
pkg/apis/core/validation (node selector requirements).
"""

import re
from typing import Any, Literal

from pydantic import ConfigDict, Field

from gitbot.documents import Path, Report, shown, value_at
from gitbot.documents.fields import Value
from gitbot.intents.spec_fields import UNIQUE, LabelKey, Labels, LabelValue, Name


def _when(operators: list[str], then: dict[str, Any]) -> dict[str, Any]:
    condition = {"properties": {"operator": {"enum": operators}}, "required": ["operator"]}
    return {"if": condition, "then": then}


# What JSON Schema says about the values that each operator takes.
_SET = _when(["In", "NotIn"], {"required": ["values"], "properties": {"values": {"minItems": 1}}})
_PRESENCE = _when(["Exists", "DoesNotExist"], {"properties": {"values": {"maxItems": 0}}})
_COMPARISON = _when(
    ["Gt", "Lt"],
    {
        "required": ["values"],
        "properties": {
            "values": {"minItems": 1, "maxItems": 1, "items": {"pattern": "^-?[0-9]{1,18}$"}}
        },
    },
)


class Expression(Value):
    """One matchExpressions entry of a label selector."""

    model_config = ConfigDict(json_schema_extra={"allOf": [_SET, _PRESENCE]})

    key: LabelKey = Field(description="Label key.")
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"] = Field(
        description="How the label's value compares."
    )
    values: tuple[LabelValue, ...] = Field(
        default=(),
        strict=False,
        description="For In and NotIn only.",
        json_schema_extra=UNIQUE,
    )


class LabelSelector(Value):
    """A label selector over VMIs: all parts must match."""

    match_labels: Labels = Field(
        default_factory=dict, description="Labels with exactly these values."
    )
    match_expressions: tuple[Expression, ...] = Field(
        default=(), strict=False, description="Further conditions on labels."
    )


class NodeExpression(Value):
    """One matchExpressions entry of a node selector term."""

    model_config = ConfigDict(json_schema_extra={"allOf": [_SET, _PRESENCE, _COMPARISON]})

    key: LabelKey = Field(description="Label key.")
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"] = Field(
        description="How the value compares."
    )
    values: tuple[str, ...] = Field(
        default=(),
        strict=False,
        description="One integer as text for Gt and Lt.",
        json_schema_extra=UNIQUE,
    )


class NodeField(Value):
    """One matchFields entry of a node selector term: the node's name."""

    key: Literal["metadata.name"] = Field(description="The only field there is.")
    operator: Literal["In", "NotIn"] = Field(description="This node, or any other.")
    values: tuple[Name] = Field(strict=False, description="Exactly one name.")


class NodeSelectorTerm(Value):
    """One node selector term: all parts must match."""

    match_expressions: tuple[NodeExpression, ...] = Field(
        default=(), strict=False, description="Conditions on node labels."
    )
    match_fields: tuple[NodeField, ...] = Field(
        default=(), strict=False, description="Conditions on metadata.name."
    )


# What a JSON Schema of a selector says beyond its fields: it is not empty.
_FILLED: list[Any] = [
    {"required": ["matchLabels"], "properties": {"matchLabels": {"minProperties": 1}}},
    {"required": ["matchExpressions"], "properties": {"matchExpressions": {"minItems": 1}}},
]
NOT_EMPTY: dict[str, Any] = {"allOf": [{"anyOf": _FILLED}]}


_PARTS = frozenset({"matchLabels", "matchExpressions"})


def check_selector(report: Report, path: Path, *, empty: bool = False) -> None:
    """Report what is wrong with a label selector, beyond its fields' types.

    `empty`: whether an empty selector, which selects everything, is allowed.
    """
    value = value_at(report.document.value, path)
    if not isinstance(value, dict) or report.silent(path):
        return
    if (
        not empty
        and not any(map(value.get, _PARTS))
        and report.document.holes.isdisjoint((path, *((*path, part) for part in _PARTS)))
        and value.keys() <= _PARTS
    ):
        report.at_value(
            path,
            "empty-selector",
            "found an empty selector, expected one that selects something",
            "an empty selector means every VM; write matchLabels",
        )
    check_expressions(report, (*path, "matchExpressions"))


def check_expressions(report: Report, path: Path) -> None:
    items = value_at(report.document.value, path)
    for index, item in enumerate(items if isinstance(items, list) else []):
        if isinstance(item, dict):
            _check_expression(report, (*path, index), item)


def _check_expression(report: Report, path: Path, item: dict[str, Any]) -> None:
    values, below = item.get("values"), (*path, "values")
    count = len(values) if isinstance(values, list) else 0
    if values is not None and not isinstance(values, list):
        return
    match item.get("operator"):
        case "In" | "NotIn" if count == 0:
            where = report.at_value if values is not None else report.at_parent
            where(
                below, "selector", "found no values, expected at least one", "In and NotIn need one"
            )
        case "Exists" | "DoesNotExist" if count:
            report.at_key(
                below, "selector", "found values, expected none", "Exists takes no values"
            )
        case "Gt" | "Lt":
            _check_comparison(report, below, values)
        case _:
            pass
    check_repetition(report, below)


def _check_comparison(report: Report, path: Path, values: list[Any] | None) -> None:
    if values is None or len(values) != 1:
        where = report.at_value if values is not None else report.at_parent
        found = "no values" if not values else f"{len(values)} values"
        where(
            path, "selector", f"found {found}, expected exactly one", "Gt and Lt compare with one"
        )
    elif isinstance(values[0], str) and not re.fullmatch(r"-?[0-9]{1,18}", values[0]):
        report.at_value(
            (*path, 0),
            "selector",
            f"found {shown(values[0])}, expected an integer in quotes",
            "Gt and Lt compare integers",
        )


def check_repetition(report: Report, path: Path) -> None:
    items = value_at(report.document.value, path)
    if not isinstance(items, list):
        return
    seen: dict[str, int] = {}
    for index, item in enumerate(items):
        if not isinstance(item, str):
            continue
        if item in seen:
            report.at_value(
                (*path, index),
                "duplicate",
                f"found {shown(item)} again, expected every value once",
                "remove one of the two",
            )
        seen.setdefault(item, index)
