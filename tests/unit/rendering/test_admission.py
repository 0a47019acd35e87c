from typing import Any

import pytest
from cel_expr_python import cel

from gitbot.model.text.names import IntentRef
from gitbot.rendering import AdmissionRule, admission_manifests
from gitbot.rendering.template import as_cel
from tests.unit.rendering.test_migration import TEMPLATES

ZONE = "topology.kubernetes.io/zone"
SELECTOR = {
    "matchLabels": {"kubevirt.io/domain": "mssql2016"},
    "matchExpressions": [{"key": "tier", "operator": "Exists"}],
}
RULE = AdmissionRule(
    ref=IntentRef(kind="ZoneAntiAffinity", namespace="customapp", name="mssql2016"),
    selector=SELECTOR,
    topology_key=ZONE,
)
LAUNCHERS = {
    "matchLabels": {"kubevirt.io/domain": "mssql2016"},
    "matchExpressions": [
        {"key": "tier", "operator": "Exists"},
        {"key": "kubevirt.io", "operator": "In", "values": ["virt-launcher"]},
    ],
}
TERM = {
    "labelSelector": LAUNCHERS,
    "topologyKey": ZONE,
    "mismatchLabelKeys": ["kubevirt.io/created-by"],
}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def policy() -> Any:
    return admission_manifests(RULE, templates=TEMPLATES)[0]


def evaluate(expression: str, **data: Any) -> Any:
    environment = cel.NewEnv(variables=dict.fromkeys(data, cel.Type.DYN))
    return environment.compile(expression).eval(data=data).plain_value()


def patches(affinity: Any) -> Any:
    """What the policy's expression answers, with JSONPatch as a plain map."""
    spec = policy()["spec"]
    plain = spec["mutations"][0]["jsonPatch"]["expression"]
    for found, put in (
        ("JSONPatch{", "{"),
        ("op:", '"op":'),
        ("path:", '"path":'),
        ("value: ", '"value": '),
        ('"add"', 'dyn("add")'),
    ):
        plain = plain.replace(found, put)
    (variable,) = spec["variables"]
    term = evaluate(variable["expression"])
    pod = {"spec": {} if affinity is None else {"affinity": affinity}}
    return evaluate(plain, object=pod, variables={"term": term})


@pytest.mark.parametrize(
    ("affinity", "path", "value"),
    [
        (None, "/spec/affinity", {"podAntiAffinity": {REQUIRED: [TERM]}}),
        ({"nodeAffinity": {}}, "/spec/affinity/podAntiAffinity", {REQUIRED: [TERM]}),
        ({"podAntiAffinity": {}}, f"/spec/affinity/podAntiAffinity/{REQUIRED}", [TERM]),
        (
            {"podAntiAffinity": {REQUIRED: [{"topologyKey": ZONE}]}},
            f"/spec/affinity/podAntiAffinity/{REQUIRED}/-",
            TERM,
        ),
        (
            {"podAntiAffinity": {REQUIRED: [{**TERM, "topologyKey": "rack"}]}},
            f"/spec/affinity/podAntiAffinity/{REQUIRED}/-",
            TERM,
        ),
    ],
)
def test_adds_the_term_at_the_deepest_missing_parent(affinity: Any, path: str, value: Any) -> None:
    assert patches(affinity) == [{"op": "add", "path": path, "value": value}]


def test_adds_nothing_where_the_term_is_there() -> None:
    assert patches({"podAntiAffinity": {REQUIRED: [{"topologyKey": "x"}, TERM]}}) == []


def test_matches_new_launcher_pods_of_the_rule_in_its_namespace_only() -> None:
    constraints = policy()["spec"]["matchConstraints"]
    assert constraints["namespaceSelector"] == {
        "matchLabels": {"kubernetes.io/metadata.name": "customapp"}
    }
    assert constraints["objectSelector"] == LAUNCHERS
    assert constraints["resourceRules"] == [
        {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
    ]


def test_binding_names_the_policy() -> None:
    made, binding = admission_manifests(RULE, templates=TEMPLATES)
    assert made["metadata"]["name"] == "gitbot-customapp-mssql2016"
    assert binding["kind"] == "MutatingAdmissionPolicyBinding"
    assert binding["spec"] == {"policyName": "gitbot-customapp-mssql2016"}


@pytest.mark.parametrize("value", ['a"b', "a\\b", "ä\n\u2028", [], ["x", "y"], {"k": ["v"]}, 7])
def test_cel_literals_mean_the_value(value: Any) -> None:
    assert evaluate(as_cel(value)) == value
