"""Every opening of ten years is the one that an independent program sees on the wall clock."""

import pytest

from tests.controlplane import build
from tests.slow.ten_years import ZONES, compare

MISSING = build.missing("calendar")


@pytest.mark.slow
@pytest.mark.skipif(bool(MISSING), reason=MISSING)
def test_a_sample_of_ten_years() -> None:
    found = compare(("Europe/Madrid", "Australia/Lord_Howe"), each=20)
    assert found.differences == ()
    assert found.openings > 50_000


@pytest.mark.long
@pytest.mark.skipif(bool(MISSING), reason=MISSING)
@pytest.mark.timeout(7200)
def test_ten_years_in_twelve_zones() -> None:
    found = compare(ZONES, each=200)
    assert found.differences == ()
    assert found.openings > 2_000_000
