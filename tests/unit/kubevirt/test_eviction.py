"""What a drain does to a VM, by strategy and condition (facts of KubeVirt 1.9's webhook)."""

import pytest

from gitbot.kubevirt.admission import Admitted, Refused
from gitbot.kubevirt.eviction import Prediction, admit_eviction, predict_eviction
from tests.unit.kubevirt.objects import KUBEVIRT, Object, condition, vmi

MIGRATE, RESTART, BLOCK = Prediction.MIGRATE, Prediction.RESTART, Prediction.BLOCK
WAIT = Prediction.WAIT


@pytest.mark.parametrize(
    ("strategy", "yes", "no", "absent"),
    [
        (None, RESTART, RESTART, RESTART),
        ("None", RESTART, RESTART, RESTART),
        ("LiveMigrate", MIGRATE, BLOCK, BLOCK),
        ("LiveMigrateIfPossible", MIGRATE, RESTART, RESTART),
        ("External", WAIT, WAIT, WAIT),
    ],
)
def test_the_prediction_is_a_table(
    strategy: str | None, yes: Prediction, no: Prediction, absent: Prediction
) -> None:
    found = []
    for conditions in (
        [condition("LiveMigratable", "True")],
        [condition("LiveMigratable", "False")],
        [],
    ):
        obj = vmi(conditions=conditions)
        if strategy is not None:
            obj["spec"]["evictionStrategy"] = strategy
        found.append(predict_eviction(obj))
    assert found == [yes, no, absent]


def test_the_clusters_strategy_counts_where_the_vmi_has_none() -> None:
    kubevirt = {"spec": {"configuration": {"evictionStrategy": "LiveMigrate"}}}
    assert predict_eviction(vmi(), kubevirt) is MIGRATE
    own = vmi()
    own["spec"]["evictionStrategy"] = "None"
    assert predict_eviction(own, kubevirt) is RESTART


def launcher(**labels: str) -> Object:
    return {
        "metadata": {
            "name": "virt-launcher-db-1-x",
            "namespace": "shop",
            "labels": {"kubevirt.io": "virt-launcher", **labels},
            "annotations": {"kubevirt.io/domain": "db-1"},
        },
        "spec": {"nodeName": "n1"},
        "status": {"phase": "Running"},
    }


def movable(**annotations: str) -> Object:
    obj = vmi()
    obj["spec"]["evictionStrategy"] = "LiveMigrate"
    obj["metadata"]["annotations"] = annotations
    return obj


@pytest.mark.parametrize(
    ("own", "key"),
    [
        ({"a": "b"}, "kubevirt.io/eviction-source"),
        ({}, "kubevirt.io~1eviction-source"),  # upstream's slip with VMIs without annotations
    ],
)
def test_a_descheduler_leaves_its_name(own: dict[str, str], key: str) -> None:
    verdict = admit_eviction(
        launcher(),
        vmi=movable(**own),
        kubevirt=KUBEVIRT,
        annotations={"requested-by": "sigs.k8s.io/descheduler"},
    )
    assert isinstance(verdict, Refused)
    (effect,) = verdict.effects
    assert effect["metadata"]["annotations"] == {**own, key: "descheduler"}
    assert effect["status"]["evacuationNodeName"] == "n1"


def test_a_hotplug_pod_of_a_running_vmi_stays() -> None:
    pod = {"metadata": {"name": "hp-volume-1", "namespace": "shop", "labels": {}}}
    pod["metadata"]["labels"] = {"kubevirt.io": "hotplug-disk"}
    refused = admit_eviction(pod, vmi=vmi(), kubevirt=KUBEVIRT, owner=launcher())
    assert isinstance(refused, Refused)
    assert refused.code == 429
    assert "cannot evict hotplug pod: hp-volume-1 associated with running vmi: db-1" in (
        refused.message
    )
    assert isinstance(admit_eviction(pod, vmi=None, kubevirt=KUBEVIRT), Admitted)


def test_other_pods_are_nobodys_business() -> None:
    pod = {"metadata": {"name": "web", "labels": {}}, "spec": {}, "status": {"phase": "Running"}}
    assert isinstance(admit_eviction(pod, vmi=None, kubevirt=KUBEVIRT), Admitted)
