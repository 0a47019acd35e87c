"""What the local forge can do, and what `gitbot init` writes about it."""

from __future__ import annotations

from gitbot.adapters.forges.forge_type import ForgeSetup
from gitbot.ports.forge import ForgeCapabilities

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

SETUP = ForgeSetup(
    readme=_README,
    settings=lambda _choices: "{type: local, repository: origin, baseBranch: main}",
)
