"""The local forge: pull requests as refs and files in a bare Git repository."""

from __future__ import annotations

from pathlib import Path

from gitbot.adapters.forges.forge_type import Connection, ForgeSetup, ForgeType
from gitbot.ports.forge import ForgeCapabilities

__all__ = ["LOCAL", "at_address"]

CAPABILITIES = ForgeCapabilities(merges_by_command=True)

_README = """\
Commands about pull requests (`propose`, `check --pull-request`, `apply`, `status`) need this
folder under Git, with a remote called `origin`: the bare repository that is the local forge.

```
git init --bare --initial-branch=main ../forge.git
git init --initial-branch=main && git add . && git commit -m "Where our VMs run"
git remote add origin ../forge.git && git push -u origin main
```
"""


def _connect(root: Path, *, address: str, repository: str, base_branch: str) -> Connection:  # noqa: ARG001
    from gitbot.adapters.forges.local.connect import connect  # noqa: PLC0415 - one forge a run

    return connect(root, repository=repository, base_branch=base_branch)


def at_address(remote: str) -> Connection:
    """A repository without any configuration, such as a copy of the forge's."""
    from gitbot.adapters.forges.local import connect  # noqa: PLC0415 - one forge a run

    return connect.at_address(remote)


LOCAL = ForgeType(
    title="the local forge",
    capabilities=CAPABILITIES,
    connect=_connect,
    setup=ForgeSetup(
        readme=_README,
        settings=lambda _choices: "{type: local, repository: origin, baseBranch: main}",
    ),
)
