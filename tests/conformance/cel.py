"""The conformance cases of CEL's specification, asked of gitbot's expressions.

`python -m tests.conformance --data DIR` (or `make conformance DATA=DIR`) prints the figures of
docs/reference/policies.md; DIR is a clone of github.com/google/cel-spec. A case applies unless one
of the reasons below keeps it out: gitbot's expressions know no protocol buffers, as those of
Kubernetes' policies know none, and are always checked before they run.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from gitbot.policy.cel_engine import compile_expression, evaluate
from gitbot.policy.errors import EvaluationError, ExpressionError
from tests.conformance.textproto import Message, Word, read_textproto

FOLDER = Path("tests/simple/testdata")
NO_ANSWER = "no answer"
_OTHER_LIBRARIES = {
    "block_ext": "macros that only tests have",
    "encoders_ext": "base64, which Kubernetes' environment does not have",
}
_UNCHECKED = "what only an expression that is not checked before it runs can give"
# What stays different, and why.
KNOWN = {
    "a key twice in a map, of two types of number (the engine takes the first)": {
        "fields/qualified_identifier_resolution/map_value_repeat_key_heterogeneous"
    },
    "net.IP and net.CIDR as values (gitbot has no names for types of Kubernetes)": {
        "network_ext/ip_type/ip_type",
        "network_ext/cidr/parse_cidr_ipv4",
        "network_ext/cidr/cidr_type",
    },
    "addresses of IPv4 inside IPv6, which Kubernetes refuses too": {
        "network_ext/ipv4/ipv4_equals_ipv6",
        "network_ext/ipv4/ipv4_not_equals_ipv6",
    },
}
_MESSAGES = re.compile(
    r"TestAllTypes|NestedTestAllTypes|TestRequired|google\.(protobuf|rpc)\b|_ext\b"
)
_TIMES = re.compile(r"google\.protobuf\.(Timestamp|Duration)\b(?!\s*\{)")
_TYPES = {"null": "null_type", "timestamp": "google.protobuf.Timestamp"} | {
    "duration": "google.protobuf.Duration"
}


@dataclass(frozen=True, slots=True)
class Case:
    """One expression with what it must give: a value, or no answer. `why` keeps it out."""

    name: str
    expression: str
    bound: Mapping[str, Any]
    expected: Any
    why: str = ""
    checked: bool = True


@dataclass(slots=True)
class Outcome:
    """How the cases of a file ended; `wrong` are those that give something else, unexpectedly."""

    agree: int = 0
    known: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class TypeName:
    """A type as a value, by the name that expressions have for it."""

    name: str


class _NotApplicable(Exception):
    """What gitbot's expressions do not have."""


def cases(folder: Path) -> Iterator[tuple[str, list[Case]]]:
    """By file, its cases."""
    for path in sorted(folder.glob("*.textproto")):
        file = read_textproto(path.read_text("utf-8"))
        yield (
            path.stem,
            [
                _case(path.stem, _text(section, "name"), test)
                for section in file.get("section", ())
                for test in section.get("test", ())
            ],
        )


def asked(found: list[Case]) -> Outcome:
    outcome = Outcome()
    for case in found:
        if case.why:
            outcome.left_out[case.why] += 1
            continue
        ours, compiled = _answer(case)
        known = [why for why, names in KNOWN.items() if case.name in names]
        if _same(ours, case.expected):
            outcome.agree += 1
        elif not case.checked and not compiled:
            outcome.left_out[_UNCHECKED] += 1
        elif known:
            outcome.known[known[0]] += 1
        else:
            said = f"{case.name}: {case.expression}: found {ours!r}, expected {case.expected!r}"
            outcome.wrong.append(said)
    return outcome


def _case(file: str, section: str, test: Message) -> Case:
    name = f"{file}/{section}/{_text(test, 'name')}"
    text = _text(test, "expr")
    why = _OTHER_LIBRARIES.get(file, "")
    bound: dict[str, Any] = {}
    expected: Any = None
    declarations = test.get("type_env", ())
    try:
        if _text(test, "container") or _MESSAGES.search(_TIMES.sub("", text)):
            raise _NotApplicable("protocol buffers and their namespaces")
        if "check_only" in test:
            raise _NotApplicable("what type is deduced, without a value")
        if any(_text(declared, "name") in ("true", "false", "null") for declared in declarations):
            raise _NotApplicable("names that are no names of variables")
        if any(
            "function" in declared or "." in _text(declared, "name") for declared in declarations
        ):
            raise _NotApplicable("declarations of functions and of names with dots")
        bound = {
            _text(entry, "key"): _value(entry["value"][0]["value"][0])
            for entry in test.get("bindings", ())
        }
        expected = _expected(test)
    except _NotApplicable as left_out:
        why = why or str(left_out)
    checked = "disable_check" not in test
    return Case(name, expression=text, bound=bound, expected=expected, why=why, checked=checked)


def _expected(test: Message) -> Any:
    if "eval_error" in test or "any_eval_errors" in test:
        return NO_ANSWER
    if "unknown" in test or "any_unknowns" in test:
        raise _NotApplicable("unknown values")
    if "typed_result" in test:
        return _value(test["typed_result"][0]["result"][0])
    return _value(test["value"][0]) if "value" in test else True


def _value(value: Message) -> Any:
    if not value:
        return None
    kind, held = next((kind, values[0]) for kind, values in value.items())
    match kind:
        case "null_value":
            return None
        case "bool_value":
            return held.name == "true"
        case "int64_value" | "uint64_value":
            return held
        case "double_value":
            return float(held.name) if isinstance(held, Word) else float(held)
        case "string_value":
            return held.decode("utf-8")
        case "bytes_value":
            return held
        case "type_value":
            return TypeName(held.decode())
        case "list_value":
            return [_value(item) for item in held.get("values", ())]
        case "map_value":
            return {
                _value(entry["key"][0]): _value(entry["value"][0])
                for entry in held.get("entries", ())
            }
        case "object_value":
            return _time(held)
    raise _NotApplicable("protocol buffers and their namespaces")


def _time(held: Message) -> Any:
    ((name, (inner,)),) = held.items()
    parts = {key: values[0] for key, values in inner.items() if key in ("seconds", "nanos")}
    length = timedelta(seconds=parts.get("seconds", 0), microseconds=parts.get("nanos", 0) / 1_000)
    if name.endswith(".Timestamp"):
        return datetime(1970, 1, 1, tzinfo=UTC) + length
    if name.endswith(".Duration"):
        return length
    raise _NotApplicable("protocol buffers and their namespaces")


def _answer(case: Case) -> tuple[Any, bool]:
    """What it gives, and whether it compiles."""
    text = case.expression
    for name, value in case.bound.items():
        given = f"variables['{name}']"
        if isinstance(value, timedelta):  # the engine takes no durations from outside
            given = f"duration('{value.total_seconds():.9f}s')"
        text = f"cel.bind({name}, {given}, {text})"
    try:
        program = compile_expression(text, names=frozenset({"variables"}))
    except ExpressionError:
        return NO_ANSWER, False
    try:
        data = {key: item for key, item in case.bound.items() if not isinstance(item, timedelta)}
        return _plain(evaluate(program, {"variables": data})), True
    except EvaluationError:
        return NO_ANSWER, True


def _plain(found: Any) -> Any:
    if isinstance(found, bytearray):
        return bytes(found)
    if isinstance(found, Mapping):
        return {key: _plain(value) for key, value in found.items()}
    if isinstance(found, list):
        return [_plain(item) for item in found]
    if type(found).__module__.startswith("cel_expr_python"):
        name = str(found).lower().partition("<")[0]
        return TypeName(_TYPES.get(name, name))
    return found


def _same(ours: Any, expected: Any) -> bool:
    if type(ours) is not type(expected):
        return False
    if isinstance(expected, list):
        return len(ours) == len(expected) and all(map(_same, ours, expected))
    if isinstance(expected, dict):
        return ours.keys() == expected.keys() and all(
            _same(ours[key], expected[key]) for key in expected
        )
    if isinstance(expected, float) and math.isnan(expected):
        return math.isnan(ours)
    return bool(ours == expected)


def _text(message: Message, name: str) -> str:
    (found,) = message.get(name, [b""])
    return found.decode("utf-8") if isinstance(found, bytes) else str(found)
