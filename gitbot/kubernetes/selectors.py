"""Label selectors and node selector terms, evaluated the way the scheduler does.

Sources: apimachinery pkg/labels/selector.go; component-helpers
scheduling/corev1/nodeaffinity/nodeaffinity.go (kube-scheduler).
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
    return len(text) <= 63 and _VALUE.fullmatch(text) is not None


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Requirement:
    """One `key operator values`, values sorted. Malformed: operator "", never matches."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    @classmethod
    def of(cls, expression: Mapping[str, Any]) -> Requirement:
        operator = str(expression.get("operator", ""))
        values = tuple(sorted({str(value) for value in expression.get("values") or ()}))
        key = str(expression.get("key", ""))
        if not _well_formed(operator, expression.get("values") or (), values):
            operator = ""
        return cls(key=key, operator=operator, values=values)

    @property
    def malformed(self) -> bool:
        return not self.operator

    @property
    def words(self) -> str:
        """The requirement as kubectl writes it."""
        listed = ", ".join(self.values)
        match self.operator:
            case "In":
                return f"{self.key} in ({listed})"
            case "NotIn":
                return f"{self.key} not in ({listed})"
            case "Exists":
                return f"label {self.key}"
            case "DoesNotExist":
                return f"no label {self.key}"
            case "Gt":
                return f"{self.key} > {listed}"
            case "Lt":
                return f"{self.key} < {listed}"
            case _:
                return f"{self.key} (malformed)"

    def accepts(self, value: str | None) -> bool:
        """Whether a label value satisfies it; None means that the label is absent."""
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
class LabelMatcher:
    """A label selector; `nothing` is the nil selector. No requirements: matches everything."""

    requirements: tuple[Requirement, ...] = ()
    nothing: bool = False

    @classmethod
    def of(cls, selector: Mapping[str, Any] | None) -> LabelMatcher:
        """Read a metav1.LabelSelector: None (absent) matches nothing, `{}` matches everything."""
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
        return not self.nothing and not self.requirements

    @property
    def one_label(self) -> tuple[str, str] | None:
        """The label (key, value) if the selector demands exactly one label, else None."""
        if self.nothing or len(self.requirements) != 1:
            return None
        item = self.requirements[0]
        if item.operator != "In" or len(item.values) != 1:
            return None
        return item.key, item.values[0]

    def matches(self, labels: Mapping[str, str]) -> bool:
        if self.nothing:
            return False
        for item in self.requirements:  # noqa: SIM110 - asked for every pod that is judged
            if not item.accepts(labels.get(item.key)):
                return False
        return True

    def merged(self, requirements: Iterable[Requirement]) -> LabelMatcher:
        """Add requirements on keys that it does not have yet; a nil selector stays nil."""
        if self.nothing:
            return self
        named = {item.key for item in self.requirements}
        added = [item for item in requirements if item.key not in named]
        if not added:
            return self
        return LabelMatcher(requirements=tuple(sorted({*self.requirements, *added})))


_REQUIREMENT = re.compile(
    r"(?P<no>!)?(?P<key>[\w./-]+)(\s*(?P<sign>==?|!=)\s*(?P<value>[\w.-]*)"
    r"|\s+(?P<word>in|notin)\s*\((?P<values>[^()]*)\))?"
)


def parse_selector(text: str) -> LabelMatcher:
    """A label selector as kubectl reads it. Raises ValueError."""
    found = []
    for part in re.split(r",(?![^(]*\))", text):
        match = _REQUIREMENT.fullmatch(part.strip())
        if match is None or (match["no"] and (match["sign"] or match["word"])):
            raise ValueError(f"found {part.strip()!r}, expected such as app=db or !app")
        values = [match["value"]] if match["sign"] else (match["values"] or "").split(",")
        without = match["sign"] == "!=" or match["word"] == "notin"
        if match["sign"] or match["word"]:
            values = [value.strip() for value in values]
            operator = "NotIn" if without else "In"
            found.append({"key": match["key"], "operator": operator, "values": values})
        else:
            found.append(
                {"key": match["key"], "operator": "DoesNotExist" if match["no"] else "Exists"}
            )
    return LabelMatcher.of({"matchExpressions": found})


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The objects that -n and -l select, by namespace and labels; by default everything."""

    namespace: str = ""
    labels: LabelMatcher | None = None

    @property
    def narrows(self) -> bool:
        return bool(self.namespace) or self.labels is not None

    def holds(self, namespace: str, labels: Mapping[str, str]) -> bool:
        """Objects without a namespace ("") match every namespace, as in kubectl."""
        return namespace in ("", self.namespace or namespace) and (
            self.labels is None or self.labels.matches(labels)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeMatcher:
    """One nodeSelectorTerm: all parts are ANDed; an empty or malformed term never matches."""

    expressions: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()

    @classmethod
    def of(cls, term: Mapping[str, Any]) -> NodeMatcher:
        """Read a nodeSelectorTerm. matchFields support metadata.name, In, NotIn, one value."""
        return cls(
            expressions=tuple(Requirement.of(item) for item in term.get("matchExpressions") or ()),
            fields=tuple(_field(item) for item in term.get("matchFields") or ()),
        )

    @property
    def empty(self) -> bool:
        """Whether it has no requirement. Such a term matches nothing."""
        return not self.expressions and not self.fields

    @property
    def malformed(self) -> bool:
        return any(item.malformed for item in (*self.expressions, *self.fields))

    @property
    def usable(self) -> bool:
        return not self.empty and not self.malformed

    def matches(self, labels: Mapping[str, str], name: str) -> bool:
        return self.matches_labels(labels) and all(item.accepts(name) for item in self.fields)

    def matches_labels(self, labels: Mapping[str, str]) -> bool:
        """Like `matches`, but without a name: ignores matchFields."""
        return self.usable and all(item.accepts(labels.get(item.key)) for item in self.expressions)

    @property
    def pinned_names(self) -> frozenset[str] | None:
        """The node names that its matchFields In allow; None if it has none."""
        pins = [frozenset(item.values) for item in self.fields if item.operator == "In"]
        return frozenset.intersection(*pins) if pins else None


def _field(expression: Mapping[str, Any]) -> Requirement:
    values = tuple(str(value) for value in expression.get("values") or ())
    operator, key = str(expression.get("operator", "")), str(expression.get("key", ""))
    legal = key == "metadata.name" and operator in {"In", "NotIn"} and len(values) == 1
    return Requirement(key=key, operator=operator if legal else "", values=values)
