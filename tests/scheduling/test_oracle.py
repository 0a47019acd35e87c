"""At least 20,000 pods of random scenarios: gitbot says what kube-scheduler's own plugins say."""

import pytest

from tests.controlplane import build
from tests.scheduling import mutations
from tests.scheduling.comparison import differences, differences_as_sent
from tests.scheduling.oracle import answered

pytestmark = [pytest.mark.oracle, pytest.mark.timeout(1800)]
SHARES = 4
SEEDS = range(5200)
SHARE_OF_PODS = 5000


@pytest.mark.parametrize("share", range(SHARES))
def test_twenty_thousand_random_pods_are_judged_equal(share: int) -> None:
    program = build.build(["oracle"])["oracle"]
    judged = 0
    found: list[str] = []
    for scenario, result in answered(program, SEEDS[share::SHARES]):
        judged += len(result["results"])
        found += differences(scenario, result)
    assert found == []
    assert judged >= SHARE_OF_PODS


def test_recorded_clusters_recombined_are_judged_equal() -> None:
    program = build.build(["oracle"])["oracle"]
    judged = 0
    found: list[str] = []
    for scenario, result in answered(program, range(600), mutations.scenario):
        judged += len(result["results"])
        found += differences(scenario, result)
    assert found == []
    assert judged >= 3000


def test_pods_that_no_api_server_stored_are_judged_as_if_one_had() -> None:
    program = build.build(["oracle"])["oracle"]
    found: list[str] = []
    for scenario, result in answered(program, range(10_000, 10_400)):
        found += differences_as_sent(scenario, result)
    assert found == []
