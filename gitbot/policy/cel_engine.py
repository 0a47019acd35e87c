"""The CEL engine: the only file that knows the CEL runtime (cel-expr-python, the C++ runtime).

Expressions are type-checked before anything runs. The runtime bounds each evaluation (9,999 loop
iterations, nesting of 32, 100,000 characters) and has no clock, so an expression gives the same
answer on every machine. Any failure of an evaluation is an EvaluationError, never a value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import chain, permutations
from typing import Any

from cel_expr_python import cel

from gitbot.model.grouping import grouped
from gitbot.policy.errors import EvaluationError, ExpressionError, NotData, placed, short
from gitbot.policy.library import LIBRARIES, TYPE, CelFunction, all_matches
from gitbot.policy.variables import VARIABLES

EXTENSIONS: Mapping[str, str] = {
    "bindings": "`cel.bind`",
    "lists": "`slice`, `flatten`, `distinct`, `reverse`, `sort`, `sortBy`, `lists.range`",
    "math": "`math.greatest`, `math.least`, `math.ceil`, `math.floor`, `math.round`, `math.abs`",
    "optional": "`a.?b`, `a[?b]`, `orValue`, `hasValue`, `optMap`",
    "sets": "`sets.contains`, `sets.equivalent`, `sets.intersects`",
    "strings": "`charAt`, `format`, `indexOf`, `join`, `lowerAscii`, `replace`, `split`, `trim`",
    "two-var-comprehensions": "`all(i, v, ...)`, `exists(i, v, ...)`, `transformList`, "
    "`transformMap`, `transformMapEntry`",
}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Program:
    """A checked expression over these variables."""

    text: str
    names: frozenset[str]
    checked: bytes


@lru_cache(maxsize=4096)
def compile_expression(text: str, *, names: frozenset[str], returns: str = "") -> Program:
    """Check an expression over these variables. `returns` is `bool`, `string` or "" for any.

    Raises ExpressionError for a syntax error, an unknown name, a type error or another result type.
    Cached: the engine's bytes differ each time, and other caches have them as keys.
    """
    try:
        checks, _ = _environments(tuple(sorted(names)))
        compiled = checks.compile(text)
        found = str(compiled.return_type().name()).lower()  # raises for a map with double as key
    except RuntimeError as error:
        raise placed(str(error), _NAMED) from error
    if returns and found != returns:
        hint = " (compare it with a value)" if found == "dyn" else ""
        raise ExpressionError(f"gives {found}, expected {returns}{hint}")
    checked = bytes(compiled.serialize())
    _running(names, checked)
    return Program(text, names, checked)


@lru_cache(maxsize=4096)
def _running(names: frozenset[str], checked: bytes) -> Any:
    _, runs = _environments(tuple(sorted(names)))
    try:
        return runs.deserialize(checked)
    except RuntimeError as error:
        raise placed(str(error), _NAMED) from error


def part_of(program: Program, checked: bytes) -> Program:
    """A part of a program as its own program, given its syntax."""
    return replace(program, checked=checked)


def evaluate(program: Program, data: Mapping[str, Any]) -> Any:
    """The value of a program. Raises EvaluationError if it gives no answer."""
    try:
        return _value(_running(program.names, program.checked).eval(data=data))
    except (RuntimeError, ValueError) as error:  # ValueError: a size below zero
        raise EvaluationError(short(str(error))) from error
    except MemoryError as error:
        raise EvaluationError("out of memory") from error
    except TypeError as error:
        raise EvaluationError("an optional value; end it with orValue(...)") from error


def evaluate_as_data(program: Program, data: Mapping[str, Any]) -> Any:
    """The value, if it can be the input of another evaluation; else raises NotData."""
    try:
        found = _running(program.names, program.checked).eval(data=data)
        value = _value(found)
    except TypeError as error:
        raise NotData from error
    except (RuntimeError, ValueError, MemoryError):
        return evaluate(program, data)  # raises with the engine's message
    if found.type() == cel.Type.UINT or not _is_data(value):
        raise NotData
    return value


def _is_data(value: Any) -> bool:
    if isinstance(value, Mapping):
        return all(map(_is_data, value.values()))
    if isinstance(value, list):
        return all(map(_is_data, value))
    return value is None or isinstance(value, bool | int | float | str | bytes | bytearray)


def _value(found: Any) -> Any:
    if found.type() == cel.Type.ERROR:
        raise EvaluationError(short(str(found.plain_value())))
    return found.plain_value()


def timestamp(seconds: int) -> datetime:
    return _EPOCH + timedelta(seconds=seconds)


@lru_cache(maxsize=32)
def _environments(names: tuple[str, ...]) -> tuple[Any, Any]:
    """The environments that check expressions, with Kubernetes' types, and that run them.

    The engine creates values of its own types only, so Kubernetes' types are maps when it runs.
    """
    a_map, a_time = cel.Type.Map(cel.Type.STRING, cel.Type.DYN), cel.Type.TIMESTAMP
    # the process for foreign policies knows only what ships: another name is a map
    times = {name for name, variable in VARIABLES.items() if variable.is_time}
    variables = {name: a_time if name in times else a_map for name in names}
    checks, runs = (
        cel.NewEnv(config=_config(without), variables=variables, extensions=[each])
        for each, without in zip(_libraries(), ("", "two-var-comprehensions"), strict=True)
    )
    runs.compile("true")  # cel-expr-python 0.1.3 takes no datetime before its first compilation
    return checks, runs


def _config(without: str) -> Any:
    extensions = "".join(f"\n- name: {name}" for name in EXTENSIONS if name != without)
    return cel.NewEnvConfigFromYaml(f"name: gitbot\nextensions:{extensions}\n")


@lru_cache(maxsize=1)
def _libraries() -> tuple[Any, Any]:
    overloads = [*chain.from_iterable(LIBRARIES.values()), *REGEX]
    checks = [(each.function, _checked(each)) for each in overloads]
    checks += [(name, compared) for name in _ORDER for compared in _crosswise(name)]
    alike = grouped(((each.function, each.member, _kinds(each)), each) for each in overloads)
    runs = [(name, _run(name, forms)) for (name, _, _), forms in alike.items()]
    runs += [("cel.@mapInsert", form) for form in _insert()]
    runs += [(name, form) for name in ("hasValue", "value") for form in _optional(name)]
    made = []
    for found in (checks, runs):
        functions = [cel.FunctionDecl(name, list(forms)) for name, forms in grouped(found).items()]
        made.append(cel.CelExtension("kubernetes", functions))
    return made[0], made[1]


def _checked(form: CelFunction) -> Any:
    return cel.Overload(
        form.id,
        return_type=_type(form.gives),
        parameters=[_type(each) for each in form.parameters],
        is_member=form.member,
    )


def _kinds(form: CelFunction) -> tuple[str, ...]:
    """The parameter types that the engine distinguishes at run time."""
    return tuple(
        "list" if each.startswith("list(") else "map" if "." in each else each
        for each in form.parameters
    )


def _run(name: str, forms: Sequence[CelFunction]) -> Any:
    """One function for all forms with parameters of the same types; the first one decides."""
    by_type = {_last(form.parameters): form.make for form in forms}
    ours = _kinds(forms[0])[:1] == ("map",)

    def made(*arguments: Any) -> Any:
        try:
            make = by_type[arguments[0][TYPE]] if ours else forms[0].make
            return make(*arguments)
        except (KeyError, TypeError, AttributeError, OverflowError) as error:
            raise ValueError(f"no matching overload of {name}") from error

    types = [_RUN.get(kind) or _type(kind) for kind in _kinds(forms[0])]
    gives = {form.gives for form in forms}
    returned = _type(forms[0].gives) if len(gives) == 1 and gives <= {*_OWN} else cel.Type.DYN
    member = forms[0].member
    return cel.Overload(
        forms[0].id, return_type=returned, parameters=types, is_member=member, impl=made
    )


def _last(parameters: Sequence[str]) -> str:
    return parameters[0].rpartition(".")[2] if parameters else ""


def _optional(name: str) -> Iterator[Any]:
    """Results of `validate` and `format.named`: a list or a map; an empty list for none."""
    for kind in ("list", "map"):

        def made(value: Any) -> Any:
            if name == "value" and not value:
                raise ValueError("optional.none() dereference")
            return bool(value) if name == "hasValue" else value

        gives = cel.Type.BOOL if name == "hasValue" else cel.Type.DYN
        yield cel.Overload(
            f"{name}_{kind}", return_type=gives, parameters=[_RUN[kind]], is_member=True, impl=made
        )


def _insert() -> Iterator[Any]:
    """Code of `transformMap` and `transformMapEntry`, which the engine only declares."""
    known = _RUN["any map"]

    def made(so_far: Mapping[Any, Any], key: Any, value: Any) -> Mapping[Any, Any]:
        return merged(so_far, {key: value})

    def merged(so_far: Mapping[Any, Any], entry: Mapping[Any, Any]) -> Mapping[Any, Any]:
        if again := so_far.keys() & entry.keys():
            raise ValueError(f"insert failed: key {min(map(str, again))} already exists")
        return {**so_far, **entry}

    for name, rest, make in (
        ("cel_mapInsert_map_key_value", [cel.Type.DYN, cel.Type.DYN], made),
        ("cel_mapInsert_map_map", [known], merged),
    ):
        yield cel.Overload(
            name, return_type=known, parameters=[known, *rest], is_member=False, impl=make
        )


def _crosswise(name: str) -> Iterator[Any]:
    """Orders numbers of different types, as Kubernetes does since 1.28."""
    for one, other in permutations(("int", "uint", "double"), 2):
        yield cel.Overload(
            f"{_ORDER[name]}_{one}_{other}",
            return_type=cel.Type.BOOL,
            parameters=[_type(one), _type(other)],
        )


_ORDER = {"_<_": "less", "_<=_": "less_equals", "_>_": "greater", "_>=_": "greater_equals"}
_RUN = {
    "list": cel.Type.List(cel.Type.DYN),
    "map": cel.Type.Map(cel.Type.STRING, cel.Type.DYN),
    "any map": cel.Type.Map(cel.Type.DYN, cel.Type.DYN),
}
_MARKS = {
    "kubernetes.Quantity": "int",
    "kubernetes.Semver": "double",
    "kubernetes.URL": "bytes",
    "kubernetes.NamedFormat": "duration",
    "net.IP": "bool",
    "net.CIDR": "timestamp",
}
_NAMED = {f"map(string, map(string, {mark}))": name for name, mark in _MARKS.items()}
_OWN = ("bool", "double", "dyn", "duration", "int", "string", "timestamp", "uint", "bytes")


def _type(name: str) -> Any:
    """The engine's type of a name: `int`, `list(T)`, `map(string, T)`, `optional(T)`, `a.Type`."""
    head, _, inner = name.partition("(")
    inner = inner[:-1]
    match head:
        case "list":
            return cel.Type.List(_type(inner))
        case "map":
            return cel.Type.Map(cel.Type.STRING, _type(inner.removeprefix("string, ")))
        case "optional":
            return cel.Type.AbstractType("optional_type", [_type(inner)])
    if name in _MARKS:  # overloads over abstract types collide, so unused map types replace them
        return cel.Type.Map(cel.Type.STRING, cel.Type.Map(cel.Type.STRING, _type(_MARKS[name])))
    return getattr(cel.Type, name.upper())


def _find_all(text: str, pattern: str, most: int = -1) -> list[str]:
    return all_matches(text, pattern, most, _extract)


def _find(text: str, pattern: str) -> str:
    return next(iter(_find_all(text, pattern, 1)), "")


def _extract(text: str, pattern: str) -> list[str]:
    value: list[str] = _value(_regex().eval(data={"s": text, "p": pattern}))
    return value


@lru_cache(maxsize=1)
def _regex() -> Any:
    config = cel.NewEnvConfigFromYaml("name: regex\nextensions:\n- name: optional\n- name: regex\n")
    texts = {"s": cel.Type.STRING, "p": cel.Type.STRING}
    text = "regex.extract(s, p).optMap(x, [x]).orValue([])"
    return cel.NewEnv(config=config, variables=texts).compile(text)


_TEXTS = ("string", "string")
REGEX = (
    CelFunction(
        id="string_find_string", function="find", parameters=_TEXTS, gives="string", make=_find
    ),
    CelFunction(
        id="string_find_all_string",
        function="findAll",
        parameters=_TEXTS,
        gives="list(string)",
        make=_find_all,
    ),
    CelFunction(
        id="string_find_all_string_int",
        function="findAll",
        parameters=(*_TEXTS, "int"),
        gives="list(string)",
        make=_find_all,
    ),
)
