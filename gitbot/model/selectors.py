"""Label selectors and node selector terms, with the scheduler's reading of each operator.

Sources: apimachinery pkg/labels/selector.go; component-helpers
scheduling/corev1/nodeaffinity/nodeaffinity.go (kube-scheduler 1.36).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?")
_INTEGER = re.compile(r"[+-]?[0-9]+")
_INT64 = 2**63


def parse_int64(text: str) -> int | None:
    """A base-10 int64 as Go's ParseInt reads it: ASCII digits only, no spaces, no underscores."""
    if _INTEGER.fullmatch(text) is None:
        return None
    number = int(text)
    return number if -_INT64 <= number < _INT64 else None


def valid_label_value(text: str) -> bool:
    """Whether a text is a legal label value."""
    return len(text) <= 63 and _VALUE.fullmatch(text) is not None


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Requirement:
    """One `key operator values`. Values are sorted; an illegal one has operator "" (no match)."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    @classmethod
    def of(cls, expression: Mapping[str, Any]) -> Requirement:
        """Read a matchExpressions entry; a malformed one never matches (`malformed`)."""
        operator = str(expression.get("operator", ""))
        values = tuple(sorted({str(value) for value in expression.get("values") or ()}))
        key = str(expression.get("key", ""))
        if not _well_formed(operator, expression.get("values") or (), values):
            operator = ""
        return cls(key=key, operator=operator, values=values)

    @property
    def malformed(self) -> bool:
        """Whether the API's parser refuses it."""
        return not self.operator

    def accepts(self, value: str | None) -> bool:
        """Whether a label value (None: label absent) satisfies it."""
        match self.operator:
            case "In":
                return value is not None and value in self.values
            case "NotIn":
                return value is None or value not in self.values
            case "Exists":
                return value is not None
            case "DoesNotExist":
                return value is None
            case "Gt" | "Lt":
                return self._compares(value)
            case _:
                return False

    def _compares(self, value: str | None) -> bool:
        left = None if value is None else parse_int64(value)
        right = parse_int64(self.values[0])
        if left is None or right is None:
            return False
        return left > right if self.operator == "Gt" else left < right


def _well_formed(operator: str, raw: Iterable[Any], values: tuple[str, ...]) -> bool:
    if not all(valid_label_value(value) for value in values):
        return False
    match operator:
        case "In" | "NotIn":
            return bool(values)
        case "Exists" | "DoesNotExist":
            return not values
        case "Gt" | "Lt":
            return len(list(raw)) == 1 and parse_int64(values[0]) is not None
        case _:
            return False


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelSelector:
    """A label selector; `nothing` is the nil selector. No requirements: matches everything."""

    requirements: tuple[Requirement, ...] = ()
    nothing: bool = False

    @classmethod
    def of(cls, selector: Mapping[str, Any] | None) -> LabelSelector:
        """Read a metav1.LabelSelector; None (absent) matches nothing, `{}` everything."""
        if selector is None:
            return cls(nothing=True)
        pairs = selector.get("matchLabels") or {}
        expressions = selector.get("matchExpressions") or ()
        requirements = {
            Requirement(key=str(key), operator="In", values=(str(value),))
            for key, value in pairs.items()
        } | {Requirement.of(expression) for expression in expressions}
        return cls(requirements=tuple(sorted(requirements)))

    @property
    def everything(self) -> bool:
        """Whether it is the empty selector `{}`."""
        return not self.nothing and not self.requirements

    @property
    def one_label(self) -> tuple[str, str] | None:
        """The label, key and value, that is all it demands; None where it demands anything else."""
        if self.nothing or len(self.requirements) != 1:
            return None
        item = self.requirements[0]
        if item.operator != "In" or len(item.values) != 1:
            return None
        return item.key, item.values[0]

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether labels satisfy every requirement."""
        if self.nothing:
            return False
        for item in self.requirements:  # noqa: SIM110 - asked for every pod that is judged
            if not item.accepts(labels.get(item.key)):
                return False
        return True

    def merged(self, requirements: Iterable[Requirement]) -> LabelSelector:
        """With further requirements on keys that it does not name yet; nil stays nil."""
        if self.nothing:
            return self
        named = {item.key for item in self.requirements}
        added = [item for item in requirements if item.key not in named]
        if not added:
            return self
        return LabelSelector(requirements=tuple(sorted({*self.requirements, *added})))


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSelectorTerm:
    """One nodeSelectorTerm: all parts are ANDed; an empty or malformed term never matches."""

    expressions: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()

    @classmethod
    def of(cls, term: Mapping[str, Any]) -> NodeSelectorTerm:
        """Read a nodeSelectorTerm; matchFields know only metadata.name, In and NotIn, one value."""
        return cls(
            expressions=tuple(Requirement.of(item) for item in term.get("matchExpressions") or ()),
            fields=tuple(_field(item) for item in term.get("matchFields") or ()),
        )

    @property
    def empty(self) -> bool:
        """Whether it says nothing, and so matches nothing."""
        return not self.expressions and not self.fields

    @property
    def malformed(self) -> bool:
        """Whether any part cannot be read."""
        return any(item.malformed for item in (*self.expressions, *self.fields))

    @property
    def usable(self) -> bool:
        """Whether it can match at all."""
        return not self.empty and not self.malformed

    def matches(self, labels: Mapping[str, str], name: str) -> bool:
        """Whether a node with these labels and this name satisfies it."""
        return self.matches_labels(labels) and all(item.accepts(name) for item in self.fields)

    def matches_labels(self, labels: Mapping[str, str]) -> bool:
        """The same where no name is known: fields are not asked then."""
        return self.usable and all(item.accepts(labels.get(item.key)) for item in self.expressions)

    @property
    def pinned_names(self) -> frozenset[str] | None:
        """The node names that its matchFields In pins allow; None where it pins none."""
        pins = [frozenset(item.values) for item in self.fields if item.operator == "In"]
        return frozenset.intersection(*pins) if pins else None


def _field(expression: Mapping[str, Any]) -> Requirement:
    values = tuple(str(value) for value in expression.get("values") or ())
    operator, key = str(expression.get("operator", "")), str(expression.get("key", ""))
    legal = key == "metadata.name" and operator in {"In", "NotIn"} and len(values) == 1
    return Requirement(key=key, operator=operator if legal else "", values=values)
