"""Days in which much flaps: few pull requests, and no VM goes back and forth for a wish."""

import pytest

from tests.unit.workflows.weeks import DAY, HOUR, PERIODS, WEEK, Weeks


def quiet(world: Weeks) -> None:
    """The promises of the section Damping in docs/reference/load.md."""
    assert world.crowded() == []
    assert world.twice() == []
    assert min(world.waits(required=True)) >= HOUR // 4
    assert min(world.waits(required=False), default=HOUR) >= HOUR // 2
    assert world.moves()


@pytest.mark.timeout(300)
def test_two_days() -> None:
    world = Weeks(seed=1, period=7 * HOUR)
    world.run(2 * DAY)
    quiet(world)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("period", PERIODS)
def test_a_week(period: int) -> None:
    world = Weeks(seed=period, period=period)
    world.run(WEEK)
    quiet(world)
