"""Whatever people do to Git, forge and ledger: only what was reviewed is applied, and only once."""

import re
from pathlib import Path

import pytest

from tests.torture.apart import searched
from tests.torture.history import Act, History, history_of
from tests.torture.telling import tell

ROOT = Path(__file__).resolve().parents[2]


def test_one_seed_is_one_history() -> None:
    first = tell(history_of(7))
    assert first == tell(history_of(7))
    assert first.created > 0


def acts(*names: str) -> tuple[Act, ...]:
    return tuple(Act(what=name, branch=0, request=0, target=0, who=0, pause=1) for name in names)


FOUND = {
    "two merges of one plan are one": acts(
        "open", "show", "merge", "open", "show", "merge", "apply", "apply"
    ),
}


@pytest.mark.parametrize("name", FOUND)
def test_what_was_found_stays_mended(name: str) -> None:
    told = tell(History(seed=0, reviews=0, acts=FOUND[name]))
    assert (told.broken, told.created) == ("", 1)


@pytest.mark.timeout(300)
def test_some_histories() -> None:
    said = searched("tests.torture.histories", "--seeds", "25")
    assert re.search(r"25 histories, \d+ acts, \d\d+ migrations created, 0 broken", said), said


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_ten_thousand_histories() -> None:
    said = searched("tests.torture.histories", "--seeds", "10000", "--jobs", "2")
    assert re.search(r"10000 histories, \d{6} acts, \d{4,} migrations created, 0 broken", said), (
        said
    )
    assert "never: " not in said
