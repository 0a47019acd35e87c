"""The Event of a host-model guest that no other node can take."""

import pytest

from gitbot.simulation.kubevirt.host_model_alert import no_suitable_node
from gitbot.simulation.kubevirt.migration_scene import MigrationScene
from tests.unit.kubevirt.objects import Object, migration, node, vmi
from tests.unit.simulation.kubevirt.cluster import Cluster

MODEL = "cpu-model-migration.node.kubevirt.io/Skylake"
FEATURE = "cpu-feature.node.kubevirt.io/aes"
NEEDED = {FEATURE: "true", MODEL: "true"}


def said(labels: Object, selector: Object, model: str = "host-model") -> list[str]:
    view = Cluster({"configuration": {}}, namespace="shop")
    view.add(node("n1", **NEEDED))  # the source: it does not count
    view.add(node("n2", **labels))
    guest = vmi()
    guest["spec"]["domain"]["cpu"]["model"] = model
    target: Object = {"spec": {"nodeSelector": selector}, "status": {"phase": "Pending"}}
    scene = MigrationScene(view=view, migration=migration("m1"), vmi=guest, target=target, now=0)
    return [event.message for event in no_suitable_node(scene)]


@pytest.mark.parametrize(
    ("labels", "selector", "model", "events"),
    [
        ({}, NEEDED, "host-model", 1),
        ({MODEL: "true"}, NEEDED, "host-model", 1),
        (NEEDED, NEEDED, "host-model", 0),
        ({}, {"disk": "ssd"}, "host-model", 0),
        ({}, NEEDED, "Skylake", 0),
    ],
)
def test_it_is_told_where_only_the_source_has_the_cpu(
    labels: Object, selector: Object, model: str, events: int
) -> None:
    assert len(said(labels, selector, model)) == events


def test_it_lists_what_is_needed() -> None:
    assert said({}, NEEDED | {"disk": "ssd"}) == [
        (
            "Migration cannot proceed since no node is suitable to run the required CPU model / "
            f"required features: map[{FEATURE}:true {MODEL}:true]"
        )
    ]
