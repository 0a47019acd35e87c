"""Pods: scheduling, deletion with grace, eviction, disruption budgets, Deployments."""

from typing import Any

import pytest

from gitbot.kubernetes.objects import at, condition_of, labels_of
from gitbot.simulation.building import ZONE, node
from tests.contracts.api_server.faces import ApiFace, Object, pod
from tests.doubles.workloads import deployment

APPS, POLICY = "apps", "policy"


@pytest.fixture
def nodes(face: ApiFace) -> ApiFace:
    """Two nodes in two zones."""
    face.host.add_nodes(*(node(f"n-{zone}", labels={ZONE: zone}) for zone in "ab"))
    return face


def _runs(face: ApiFace, name: str) -> Object:
    face.host.eventually(lambda: face.get("pods", name)["status"]["phase"] == "Running")
    return face.get("pods", name)


def _gone(face: ApiFace, name: str) -> None:
    path = face.path("pods", name)
    face.host.eventually(lambda: face.answer("GET", path).code == 404)


def _pods(face: ApiFace, **query: str) -> list[Object]:
    items: list[Object] = face.connection.request("GET", face.path("pods"), query=query)["items"]
    return items


def _evict(face: ApiFace, name: str, **options: Any) -> Any:
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}, **options}
    return face.answer("POST", face.path("pods", name, "eviction"), body)


def _web(face: ApiFace, replicas: int) -> None:
    face.create(
        deployment(
            "web",
            namespace=face.namespace,
            replicas=replicas,
            labels={"app": "web"},
            spec={"containers": [{"name": "web", "image": "registry.example/web:1"}]},
        )
    )
    face.host.eventually(lambda: _ready(face) == replicas)


def _ready(face: ApiFace) -> int:
    pods = _pods(face, labelSelector="app=web")
    ready = [(condition_of(each, "Ready") or {}).get("status") == "True" for each in pods]
    alive = ["deletionTimestamp" not in each["metadata"] for each in pods]
    return sum(a and b for a, b in zip(ready, alive, strict=True))


def _budget(face: ApiFace, **spec: Any) -> None:
    face.create(
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "web", "namespace": face.namespace},
            "spec": {"selector": {"matchLabels": {"app": "web"}}, **spec},
        }
    )


def test_a_new_pod_gets_what_placement_looks_at(face: ApiFace) -> None:
    made = face.create(pod("p", nodeSelector={"never": "there"}))
    spec = made["spec"]
    assert (spec["schedulerName"], spec["priority"]) == ("default-scheduler", 0)
    assert spec["preemptionPolicy"] == "PreemptLowerPriority"
    assert (spec["restartPolicy"], spec["terminationGracePeriodSeconds"]) == ("Always", 30)
    keys = [
        (each["key"], each["effect"], each["tolerationSeconds"]) for each in spec["tolerations"]
    ]
    assert keys == [
        ("node.kubernetes.io/not-ready", "NoExecute", 300),
        ("node.kubernetes.io/unreachable", "NoExecute", 300),
    ]
    assert made["status"]["phase"] == "Pending"
    assert made["metadata"]["generation"] == 1


def _apart(face: ApiFace, **term: Any) -> Object:
    """The term as stored of a pod with required anti-affinity."""
    wanted = {"topologyKey": ZONE, **term}
    rule = "requiredDuringSchedulingIgnoredDuringExecution"
    made = face.create(pod("p", affinity={"podAntiAffinity": {rule: [wanted]}}))
    stored: Object = made["spec"]["affinity"]["podAntiAffinity"][rule][0]
    return stored


@pytest.mark.parametrize(
    ("keys", "operator"), [("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")]
)
def test_label_keys_are_merged_into_the_selector(face: ApiFace, keys: str, operator: str) -> None:
    stored = _apart(face, labelSelector={"matchLabels": {"tier": "db"}}, **{keys: ["app", "none"]})
    assert stored["labelSelector"] == {
        "matchLabels": {"tier": "db"},
        "matchExpressions": [{"key": "app", "operator": operator, "values": ["p"]}],
    }
    assert stored[keys] == ["app", "none"]


@pytest.mark.parametrize(
    "selector",
    [
        {"matchLabels": {"app": "p"}},
        {"matchExpressions": [{"key": "app", "operator": "Exists"}]},
    ],
)
def test_a_key_to_match_is_in_the_selector_or_in_the_keys(face: ApiFace, selector: Object) -> None:
    code, _, message = face.refusal(
        lambda: _apart(face, labelSelector=selector, matchLabelKeys=["app"])
    )
    assert code == 422
    assert message == (
        'Pod "p" is invalid: spec.affinity.podAntiAffinity.'
        'requiredDuringSchedulingIgnoredDuringExecution[0][0]: Invalid value: "app": exists in '
        "both matchLabelKeys and labelSelector"
    )
    stored = _apart(face, labelSelector=selector, mismatchLabelKeys=["app"])
    merged = {"key": "app", "operator": "NotIn", "values": ["p"]}
    assert stored["labelSelector"]["matchExpressions"][-1] == merged


def test_a_pod_is_bound_and_runs_with_its_zone(nodes: ApiFace) -> None:
    nodes.create(pod("p", nodeSelector={ZONE: "b"}))
    running = _runs(nodes, "p")
    assert running["spec"]["nodeName"] == "n-b"
    assert labels_of(running)[ZONE] == "b"
    assert (condition_of(running, "PodScheduled") or {})["status"] == "True"
    assert (condition_of(running, "Ready") or {})["status"] == "True"


def test_a_pod_that_fits_nowhere_says_why(nodes: ApiFace) -> None:
    nodes.create(pod("p", nodeSelector={ZONE: "c"}))

    def told() -> bool:
        condition = condition_of(nodes.get("pods", "p"), "PodScheduled") or {}
        return condition.get("reason") == "Unschedulable" and condition["message"].startswith(
            "0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector."
        )

    nodes.host.eventually(told)


def test_the_spec_of_a_pod_is_not_changed(face: ApiFace) -> None:
    face.create(pod("p", nodeSelector={"never": "there"}))
    patch = {"spec": {"nodeSelector": {ZONE: "a"}}}
    code, reason, message = face.refusal(lambda: face.patch(face.path("pods", "p"), patch))
    assert (code, reason) == (422, "Invalid")
    assert 'Pod "p" is invalid: spec: Forbidden: pod updates may not change fields' in message
    changed = {"metadata": {"labels": {"app": "other"}}}
    assert face.patch(face.path("pods", "p"), changed)["metadata"]["labels"] == {"app": "other"}


def test_a_deleted_pod_has_its_grace(nodes: ApiFace) -> None:
    nodes.create(pod("p", terminationGracePeriodSeconds=7))
    _runs(nodes, "p")
    marked = nodes.answer("DELETE", nodes.path("pods", "p"))
    assert (marked.code, marked.body["kind"]) == (200, "Pod")
    assert marked.body["metadata"]["deletionGracePeriodSeconds"] == 7
    _gone(nodes, "p")


def test_a_pod_without_a_node_goes_at_once(face: ApiFace) -> None:
    face.create(pod("p", nodeSelector={"never": "there"}))
    assert face.answer("DELETE", face.path("pods", "p")).code == 200
    assert face.answer("GET", face.path("pods", "p")).code == 404


def test_no_grace_is_no_grace(nodes: ApiFace) -> None:
    nodes.create(pod("p"))
    _runs(nodes, "p")
    nodes.answer("DELETE", nodes.path("pods", "p"), {"gracePeriodSeconds": 0})
    assert nodes.answer("GET", nodes.path("pods", "p")).code == 404


def test_an_evicted_pod_goes(nodes: ApiFace) -> None:
    nodes.create(pod("p"))
    _runs(nodes, "p")
    tried = _evict(nodes, "p", deleteOptions={"dryRun": ["All"]})
    assert (tried.code, tried.body["status"]) == (201, "Success")
    assert "deletionTimestamp" not in nodes.get("pods", "p")["metadata"]
    wrong = _evict(nodes, "p", deleteOptions={"preconditions": {"uid": "of-another"}})
    assert wrong.code == 409
    assert _evict(nodes, "p").code == 201
    _gone(nodes, "p")


def test_a_deployment_brings_pods_back(nodes: ApiFace) -> None:
    _web(nodes, 2)
    first = _pods(nodes, labelSelector="app=web")[0]
    owner = first["metadata"]["ownerReferences"][0]
    assert (owner["kind"], owner["controller"]) == ("ReplicaSet", True)
    nodes.answer("DELETE", nodes.path("pods", first["metadata"]["name"]))
    _gone(nodes, first["metadata"]["name"])
    nodes.host.eventually(lambda: _ready(nodes) == 2)

    def counted() -> bool:
        status = nodes.get("deployments", "web", APPS)["status"]
        return [status.get("replicas"), status.get("readyReplicas")] == [2, 2]

    nodes.host.eventually(counted)


def test_a_budget_refuses_one_eviction_too_many(nodes: ApiFace) -> None:
    _web(nodes, 2)
    _budget(nodes, minAvailable=2)
    name = _pods(nodes, labelSelector="app=web")[0]["metadata"]["name"]

    def refused() -> bool:
        found = _evict(nodes, name, deleteOptions={"dryRun": ["All"]})
        return found.code == 429 and "causes" in found.body.get("details", {})

    nodes.host.eventually(refused)
    nodes.host.eventually(lambda: "needs 2 healthy pods and has 2 currently" in _why(nodes, name))
    found = _evict(nodes, name)
    assert (found.code, found.body["reason"]) == (429, "TooManyRequests")
    assert found.body["message"] == (
        "Cannot evict pod as it would violate the pod's disruption budget."
    )
    assert "deletionTimestamp" not in nodes.get("pods", name)["metadata"]


def _why(face: ApiFace, name: str) -> str:
    found = _evict(face, name, deleteOptions={"dryRun": ["All"]})
    return str(at(found.body, "details", "causes", default=[{}])[0].get("message"))


def test_a_budget_lets_one_go_that_can_be_spared(nodes: ApiFace) -> None:
    _web(nodes, 2)
    _budget(nodes, maxUnavailable=1)
    name = _pods(nodes, labelSelector="app=web")[0]["metadata"]["name"]
    nodes.host.eventually(lambda: _evict(nodes, name).code == 201)
    nodes.host.eventually(lambda: _ready(nodes) == 2)


def test_two_budgets_are_one_too_many(nodes: ApiFace) -> None:
    _web(nodes, 1)
    _budget(nodes, maxUnavailable=1)
    nodes.create(
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "another", "namespace": nodes.namespace},
            "spec": {"selector": {"matchLabels": {"app": "web"}}, "maxUnavailable": 1},
        }
    )
    name = _pods(nodes, labelSelector="app=web")[0]["metadata"]["name"]
    found = _evict(nodes, name)
    assert found.code == 500
    assert "more than one PodDisruptionBudget" in found.body["message"]
