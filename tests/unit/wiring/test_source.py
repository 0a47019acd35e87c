"""Where people see a file of the repository, by forge."""

import pytest

from gitbot.wiring.forges import FORGES
from gitbot.wiring.workspace import file_address


@pytest.mark.parametrize(
    ("forge", "remote", "address"),
    [
        ("github", "https://github.com/acme/vms.git", "https://github.com/acme/vms/blob/{commit}"),
        ("gitea", "https://git.x/acme/vms.git", "https://git.x/acme/vms/src/commit/{commit}"),
        ("gitlab", "https://git.x/a/b/vms.git", "https://git.x/a/b/vms/-/blob/{commit}"),
        ("local", "/srv/vms.git", ""),
        ("github", "git@github.com:acme/vms.git", ""),
    ],
)
def test_the_address_of_files(forge: str, remote: str, address: str) -> None:
    assert file_address(remote, FORGES[forge].capabilities.files) == address
