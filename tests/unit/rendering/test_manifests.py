from gitbot.documents import read_documents
from gitbot.model.plan.plan import Move
from gitbot.model.text.names import IntentRef
from gitbot.rendering import (
    AdmissionRule,
    MigrationContext,
    NodeLabels,
    admission_manifests,
    manifest,
    render_manifests,
)
from tests.unit.rendering.test_migration import TEMPLATES
from tests.unit.reports.plans import PLAN

RULE = AdmissionRule(
    ref=IntentRef(kind="ZoneAntiAffinity", namespace="customapp", name="mssql2016"),
    selector={"matchLabels": {"a": "b"}},
    topology_key="topology.kubernetes.io/zone",
)


def context(move: Move) -> MigrationContext:
    return MigrationContext(unschedulable_timeout=300, reason=f"for {move.vm.name}")


POLICIES = tuple(manifest(item) for item in admission_manifests(RULE, templates=TEMPLATES))


def test_moves_then_nodes_and_the_policies_of_a_rule() -> None:
    manifests = render_manifests(
        plan=PLAN,
        templates=TEMPLATES,
        context=context,
        nodes=(
            NodeLabels(node="kni-worker2", window="scu-firmware", state="waiting"),
            NodeLabels(node="kni-worker", window="scu-firmware", state="draining", cordon="c0ffee"),
        ),
    )
    assert [(item.kind, item.namespace, item.name) for item in (*manifests, *POLICIES)] == [
        ("VirtualMachineInstanceMigration", "customapp", "gitbot-mssql-c-82447481da"),
        ("VirtualMachineInstanceMigration", "customapp", "gitbot-mssql-d-dd522778c7"),
        ("Node", "", "kni-worker"),
        ("Node", "", "kni-worker2"),
        ("MutatingAdmissionPolicy", "", "gitbot-customapp-mssql2016"),
        ("MutatingAdmissionPolicyBinding", "", "gitbot-customapp-mssql2016"),
    ]
    assert manifests[2].object["metadata"]["labels"] == {
        "placement.gitbot.dev/cordon": "c0ffee",
        "placement.gitbot.dev/state": "draining",
        "placement.gitbot.dev/window": "scu-firmware",
    }
    assert manifests[2].object["spec"] == {"unschedulable": True}
    assert "placement.gitbot.dev/cordon" not in manifests[3].object["metadata"]["labels"]
    assert "spec" not in manifests[3].object


def test_text_reads_back_as_the_object() -> None:
    manifests = render_manifests(plan=PLAN, templates=TEMPLATES, context=context)
    for item in (*manifests, *POLICIES):
        (document,), findings = read_documents(item.text.encode(), "manifest.yaml")
        assert findings == ()
        assert document.value == item.object
