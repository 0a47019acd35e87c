"""What virt-api's schema refuses before any rule: shapes, sets of values, amounts."""

from __future__ import annotations

from typing import Any

import pytest

from gitbot.kubernetes.objects import with_value
from gitbot.kubevirt.webhook_answers import Refused
from tests.unit.kubevirt.objects import KUBEVIRT, vmi_spec
from tests.virt_api.instances import admit_instance
from tests.virt_api.machines import admit_machine

TERM = {"matchExpressions": [{"key": "a", "operator": "Like", "values": ["b"]}]}
TERMS = "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"


@pytest.mark.parametrize(
    ("field", "value", "code", "words"),
    [
        ("volumes", [None], 422, 'volumes in body must be of type object: "null"'),
        ("volumes", "x", 422, 'volumes in body must be of type array: "string"'),
        ("networks", [3], 422, 'networks in body must be of type object: "number"'),
        ("domain.cpu", [], 422, 'domain.cpu in body must be of type object: "array"'),
        ("domain.devices.disks", [{"name": []}], 422, "disks.name in body must be of type string"),
        ("tolerations", [{"effect": "Go"}], 422, "one of [NoExecute NoSchedule PreferNoSchedule]"),
        ("tolerations", [{"operator": "Like"}], 422, "should be one of [Equal Exists]"),
        (TERMS, [TERM], 422, "matchExpressions.operator in body should be one of [DoesNotExist"),
        (TERMS, [None], 422, 'nodeSelectorTerms in body must be of type object: "null"'),
        ("domain.memory.guest", "much", 400, "quantities must match the regular expression"),
        ("domain.resources.limits.cpu", "x", 400, "quantities must match the regular expression"),
    ],
)
def test_what_the_schema_refuses(field: str, value: Any, code: int, words: str) -> None:
    spec = with_value(vmi_spec("None"), value, *field.split("."))
    vm = {"metadata": {"name": "a"}, "spec": {"runStrategy": "Always", "template": {"spec": spec}}}
    vmi = {"metadata": {"name": "a"}, "spec": spec}
    answers = {
        "virtualmachineinstances": admit_instance(vmi, user="bob", kubevirt=KUBEVIRT),
        "virtualmachines": admit_machine(vm, user="bob", kubevirt=KUBEVIRT),
    }
    for plural, found in answers.items():
        assert isinstance(found, Refused)
        assert found.code == code
        assert found.message.startswith(f'admission webhook "{plural}-mutator.kubevirt.io" denied')
        assert words in found.message
