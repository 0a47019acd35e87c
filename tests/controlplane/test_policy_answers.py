"""The API server itself answers what gitbot's policies say, in ValidatingAdmissionPolicies.

Each expression becomes a validation that is true if the API server gives gitbot's value, of the
same type. `test_cel` asks the library that the API server is made of, and asks far more.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from gitbot.policy.cel_engine import compile_expression, evaluate
from gitbot.policy.errors import EvaluationError, ExpressionError
from tests.controlplane.cel_expressions import expressions
from tests.controlplane.test_cel import STRICTER
from tests.controlplane.waiting import eventually

if TYPE_CHECKING:
    from tests.controlplane.kubevirt.connection import Answer, Connection

pytestmark = pytest.mark.controlplane

GROUP = "admissionregistration.k8s.io/v1"
POLICIES = f"/apis/{GROUP}/validatingadmissionpolicies"
BINDINGS = f"/apis/{GROUP}/validatingadmissionpolicybindings"
ASKED, TOGETHER = 360, 12  # the API server cuts warnings off at 4,096 characters
FIRST = "first"
_KINDS = {"Quantity": "quantity('1')", "Semver": "semver('1.0.0')", "URL": "url('/')"} | {
    "IP": "ip('::')",
    "CIDR": "cidr('::/0')",
}
_MARK = re.compile(r"'(case-\d+|first)' == ''")


@dataclass(frozen=True, slots=True)
class Question:
    """An expression, and the validation that is true if the API server says the same."""

    expression: str
    ours: str
    validation: str


def questions() -> Iterator[Question]:
    texts = [text for text in expressions() if "timestamp" not in text and "b'" not in text]
    for text in random.Random(7).sample(texts, ASKED):
        try:
            found = evaluate(compile_expression(text, names=frozenset()), {})
        except ExpressionError:
            yield Question(text, "refused", f"dyn({text}) == dyn(0)")
        except EvaluationError:
            yield Question(text, "no answer", f"dyn({text}) == dyn(0)")
        else:
            said = literal(found)
            same_type = f"type({text}) == type({said})"
            kubernetes = isinstance(found, Mapping) and "kubernetes" in found
            both = f"{same_type} && dyn({text}) == dyn({said})"
            yield Question(text, "value", same_type if kubernetes else both)


def literal(value: Any) -> str:
    match value:
        case None | bool():
            return json.dumps(value)
        case int():
            return f"({value})"
        case float():
            return f"double('{value!r}')"
        case str():
            return json.dumps(value)
        case Mapping() if "kubernetes" in value:
            return _KINDS[value["kubernetes"]]
        case Mapping():
            pairs = (f"dyn({literal(key)}): dyn({literal(value[key])})" for key in value)
            return f"{{{', '.join(pairs)}}}"
    return f"[{', '.join(f'dyn({literal(item)})' for item in value)}]"


def policy(name: str, validations: Sequence[Mapping[str, str]]) -> dict[str, Any]:
    rule = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": ["configmaps"],
        "resourceNames": [name],
    }
    return {
        "apiVersion": GROUP,
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": [rule]},
            "validations": [{"expression": f"'{FIRST}' == ''"}, *validations],
        },
    }


@contextmanager
def in_force(
    admin: Connection, marked: Mapping[str, Mapping[str, Mapping[str, str]]]
) -> Iterator[dict[str, dict[str, str]]]:
    """By policy, the validations that the API server refuses; the others are in force."""
    refused = {name: _put(admin, name, each) for name, each in marked.items()}
    for name in marked:
        binding = {
            "apiVersion": GROUP,
            "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": {"name": name},
            "spec": {"policyName": name, "validationActions": ["Warn"]},
        }
        admin.request("POST", BINDINGS, binding)
    yield refused
    for name in marked:
        admin.request("DELETE", f"{BINDINGS}/{name}")
        admin.request("DELETE", f"{POLICIES}/{name}")


def _put(admin: Connection, name: str, marked: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Create the policy with all that compiles; what does not, with why if it is known."""
    answer = admin.answer("POST", POLICIES, policy(name, list(marked.values())))
    if answer.code == 201:
        return {}
    refused: dict[str, str] = {}
    for cause in answer.body["details"]["causes"]:
        (index,) = re.findall(r"spec\.validations\[(\d+)\]\.expression", cause["field"])
        mark = list(marked)[int(index) - 1]  # the first one is no question
        known = [why for why, words in STRICTER.items() if re.search(words, cause["message"])]
        refused[mark] = f"refused: {known[0]}" if known else "refused"
    rest = [validation for mark, validation in marked.items() if mark not in refused]
    admin.request("POST", POLICIES, policy(name, rest))
    return refused


def _warnings(admin: Connection, namespace: str, name: str) -> dict[str, str]:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    answer: Answer = admin.answer("POST", path, body, query={"dryRun": "All"})
    assert answer.code == 201, answer.body
    said = {
        mark: "no answer" if "resulted in error" in text else "false"
        for text in re.split(r'(?:^|, )299 - "', answer.headers.get("warning", ""))
        for mark in _MARK.findall(text)[:1]
    }
    return said if FIRST in said else {}


def answers(admin: Connection, namespace: str, asked: Sequence[Question]) -> Iterator[str]:
    """What the API server says of each: true, false, refused, or no answer."""
    marked: dict[str, dict[str, Mapping[str, str]]] = {}
    for number, item in enumerate(asked):
        mark = f"case-{number}"
        validation = {"expression": f"'{mark}' == '' || ({item.validation})"}
        marked.setdefault(f"answers-{number // TOGETHER}", {})[mark] = validation
    with in_force(admin, marked) as refused:
        for name, each in marked.items():
            said = eventually(partial(_warnings, admin, namespace, name))
            yield from (refused[name].get(mark) or said.get(mark, "true") for mark in each)


def test_the_api_server_says_the_same(admin: Connection, namespace: str) -> None:
    counts: Counter[str] = Counter()
    wrong = []
    asked = list(questions())
    for item, theirs in zip(asked, answers(admin, namespace, asked), strict=True):
        if {"value": "true"}.get(item.ours, item.ours) == theirs:
            counts[item.ours] += 1
        elif theirs.startswith("refused: "):
            counts[f"only the API server refuses {theirs[9:]}"] += 1
        else:
            wrong.append(f"{item.expression}: {item.ours} here, {theirs} there")
    print(dict(counts))
    assert wrong == []
    assert counts["value"] > ASKED // 2
    assert counts["no answer"] > ASKED // 10
    assert counts["refused"] > ASKED // 40
