"""What older releases of KubeVirt let the API server serve."""

import copy
from collections.abc import Mapping

from gitbot.simulation.schema_parts import Schema
from gitbot.simulation.schemas import SCHEMAS


def before_1_6() -> Mapping[str, Schema]:
    """The schemas of KubeVirt before 1.6, which knew no addedNodeSelector."""
    older = copy.deepcopy(dict(SCHEMAS["VirtualMachineInstanceMigration"]))
    del older["properties"]["spec"]["properties"]["addedNodeSelector"]
    return {**SCHEMAS, "VirtualMachineInstanceMigration": older}
