"""The contract of the Forge port again, its exchanges held to GitHub's description."""

import pytest

from tests.contracts.test_forge import *  # noqa: F403 - the same tests, watched

pytestmark = [pytest.mark.forge, pytest.mark.usefixtures("described")]
