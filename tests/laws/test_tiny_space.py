"""The two brute forces agree: one asks move by move in sets, the other counts in arrays."""

import pytest

from tests.laws.tiny import Tiny, tiny
from tests.laws.tiny_brute import Brute
from tests.laws.tiny_scarce import scarce
from tests.laws.tiny_space import Space, space_of
from tests.laws.tiny_verdict import shortfall

MOST = 300  # states of a case that are asked move by move


@pytest.mark.parametrize("own", [False, True])
def test_both_know_the_same_lawful_moves(own: bool) -> None:
    cases = [tiny(seed) for seed in range(200, 260)]
    small = [case for case in cases if len(case.nodes) ** len(case.vms) <= MOST]
    assert len(small) > 30
    for case in small:
        space, brute = Space(case, own=own, whole=True), Brute(case, own=own)
        assert len(space.places) == len(case.nodes) ** len(case.vms)
        brute.begun = frozenset()
        for (mover, target), lawful in space.edges.items():
            for number, state in enumerate(map(tuple, space.places.tolist())):
                assert lawful[number] == brute.lawful(state, mover, target), (case, state, mover)


@pytest.mark.parametrize("own", [False, True])
def test_states_that_no_lawful_move_reaches_are_left_out_and_no_others(own: bool) -> None:
    fewer = 0
    for case in (*map(tiny, range(400, 460)), *map(scarce, range(10))):
        whole, space = Space(case, own=own, whole=True), Space(case, own=own)
        assert (whole.best(), whole.best(whole.named())) == (
            space.best(),
            space.best(space.named()),
        ), case
        assert reached(whole) == reached(space), case
        fewer += len(space.places) < len(whole.places)
    assert fewer > 30


def reached(space: Space) -> set[tuple[int, ...]]:
    return set(map(tuple, space.places[space.reachable()].tolist()))


def test_both_know_the_same_best_plan_where_only_named_vms_move() -> None:
    cases = [tiny(seed) for seed in range(300, 400)]
    for case in cases:
        if case.kind in ("node", "zone", "home", "anywhere", "two"):
            brute = Brute(case)
            best = Space(case, own=False).best(frozenset(brute.movers()))
            assert brute.best() == (best.undone, (best.moves, best.memory)), case


@pytest.mark.parametrize("seed", range(12))
def test_a_route_leads_to_the_best_end_by_lawful_moves(seed: int) -> None:
    case = scarce(seed)
    space = space_of(case)
    best, named = space.best(), space.best(space.named())
    assert best.undone < named.undone
    end = walk(case, best.route)
    assert (space.undone()[space.at(end)], len(best.route)) == (best.undone, best.moves)
    assert sum(case.vms[mover].size for mover, _ in best.route) == best.memory


def walk(case: Tiny, route: list[tuple[int, int]]) -> tuple[int, ...]:
    brute = Brute(case, own=True)
    brute.begun = frozenset()
    state = case.start
    for mover, target in route:
        assert brute.lawful(state, mover, target)
        state = (*state[:mover], target, *state[mover + 1 :])
    return state


@pytest.mark.parametrize("seed", range(40))
def test_a_plan_keeps_the_law_and_is_not_better_than_the_best(seed: int) -> None:
    shortfall(scarce(seed))
