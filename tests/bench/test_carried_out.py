"""A rolling maintenance of a whole small cluster really ends when its plan says, with one plan."""

from tests.bench.bench_carried_out import Maintenance, carried_out
from tests.doubles.rack import RackSize

SMALL = RackSize(nodes=6, nodes_in_rack=2, machines=18, namespaces=1, not_migratable_percent=0)


def test_one_plan_is_enough_and_its_end_is_true() -> None:
    """Groups that wait for a node that is away are not judged as if it were never to return."""
    found = carried_out(Maintenance(seed=1, full=60, lanes=2, reboot=300), SMALL)
    assert (found.plans, found.failed) == (1, 0)
    assert found.moves >= SMALL.machines
    assert abs(found.error) < 0.1, found
