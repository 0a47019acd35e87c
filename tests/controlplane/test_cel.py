"""gitbot's CEL says what Kubernetes' own says: cel-go with the API server's libraries.

`python -m tests.controlplane.test_cel` prints the figures of docs/reference/policies.md.
"""

import json
import re
import subprocess
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from gitbot.policy.cel_engine import compile_expression, evaluate
from gitbot.policy.errors import EvaluationError, ExpressionError
from gitbot.policy.steps import plain
from tests.controlplane import build
from tests.controlplane.cel_expressions import expressions

NO_ANSWER = "no answer"
STRICTER = {  # what the API server refuses before it evaluates anything, and gitbot does not
    "lists and maps of several types": "expected type '[^']*' but found",
    "a wrong regular expression as a constant": "error parsing regexp|invalid matches argument",
    "indexOf of a value of another type": "no matching overload for '(indexOf|lastIndexOf)'",
}


@dataclass(frozen=True)
class Refused:
    """It does not compile; `why` is the known reason where gitbot compiles it."""

    why: str


def kubernetes(asked: Sequence[str]) -> list[Any]:
    program = build.build(["cel"])["cel"]
    lines = "".join(json.dumps({"expression": text}) + "\n" for text in asked)
    out = subprocess.run([program], input=lines, capture_output=True, text=True, check=True).stdout
    return [_answer(json.loads(line)) for line in out.splitlines()]


def _answer(found: dict[str, Any]) -> Any:
    if "refused" in found:
        known = [why for why, said in STRICTER.items() if re.search(said, found["refused"])]
        return Refused(known[0] if known else "")
    return NO_ANSWER if "error" in found else found.get("value")


def gitbot(text: str) -> Any:
    try:
        return _named(plain(evaluate(compile_expression(text, names=frozenset()), {})))
    except ExpressionError:
        return Refused("")
    except EvaluationError:
        return NO_ANSWER


def _named(value: Any) -> Any:
    """Values of Kubernetes' types by their type, as the program prints them."""
    if isinstance(value, list):
        return [_named(item) for item in value]
    if not isinstance(value, dict):
        return value
    kind = value.get("kubernetes")
    if kind is None:
        return {key: _named(item) for key, item in value.items()}
    return {"type": f"net.{kind}" if kind in ("IP", "CIDR") else f"kubernetes.{kind}"}


def differences(asked: Iterable[str]) -> tuple[Counter[str], list[str]]:
    """How many agree, by what they say, and each that does not."""
    texts = list(asked)
    counts: Counter[str] = Counter()
    wrong = []
    for text, theirs in zip(texts, kubernetes(texts), strict=True):
        ours = gitbot(text)
        if isinstance(theirs, Refused) and isinstance(ours, Refused):
            counts["refused"] += 1
        elif isinstance(theirs, Refused) and theirs.why:
            counts[f"only Kubernetes refuses {theirs.why}"] += 1
        elif "transformMapEntry" in text and isinstance(ours, Refused):
            counts["gitbot has no keys but texts, whole numbers and true or false"] += 1
        elif "[timestamp" in text and (isinstance(ours, Refused) or ours == NO_ANSWER):
            counts["gitbot has no min, max and maps of times"] += 1
        elif ours == theirs and isinstance(ours, bool) == isinstance(theirs, bool):
            counts[NO_ANSWER if ours == NO_ANSWER else "value"] += 1
        else:
            wrong.append(f"{text}: found {ours!r}, Kubernetes says {theirs!r}")
    return counts, wrong


@pytest.mark.oracle
def test_kubernetes_says_the_same() -> None:
    counts, wrong = differences(expressions())
    assert wrong == []
    assert counts["value"] > 1_000


if __name__ == "__main__":
    found, others = differences(expressions(combined=2_000))
    print(*others, sep="\n")
    print(f"{sum(found.values())} agree ({dict(sorted(found.items()))}), {len(others)} do not")
