"""What a whole command asks of the API server, counted: never seconds."""

from collections.abc import Iterator

import pytest

from tests.bench.bench_pass import COMMANDS, PEER, Bench, bench

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
NODES = 12
MOST_SMALL = 10  # requests beside the lists: versions, stop flag, anchor


@pytest.fixture(scope="module")
def small() -> Iterator[Bench]:
    with bench(NODES) as found:
        yield found


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_idle_command_lists_the_cluster_at_most_once(small: Bench, words: tuple[str, ...]) -> None:
    peer = small.cost(*PEER)
    cost = small.cost(*words)
    assert cost.lists <= 1
    assert cost.requests <= peer.requests + MOST_SMALL
    assert cost.sent <= peer.sent * 1.05
