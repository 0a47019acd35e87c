"""What a drain reads from the API server, counted: never seconds."""

import pytest

from tests.bench.bench_drain import VMS_ON_A_NODE, drained

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def test_one_pass_lists_the_cluster_once_to_empty_a_node() -> None:
    following = drained(60, 1, follow=True)
    assert following.moved == VMS_ON_A_NODE
    assert following.lists == 1
    assert following.total <= 1.5 * following.first
