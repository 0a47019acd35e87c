"""The texts that `gitbot init` writes."""

from __future__ import annotations

from typing import Any

from gitbot.intents import KINDS, Kind, Role
from gitbot.model.text.names import API_VERSION, CONFIGURATION_FILE

_CONFIGURATION = """\
# The configuration of gitbot. Only clusters[].name is required; everything else shown here
# is at its default, the mode included. Durations: P3D three days, PT15M fifteen minutes.
apiVersion: API_VERSION
kind: Configuration
metadata: {name: default}
spec:
  clusters:
  - name: CLUSTER                   # its intents are in intents/CLUSTER/
    # context: CLUSTER-admin        # kubeconfig context; default: the name
    timeZone: UTC                   # for schedules that name no zone of their own
    limits: {parallel: 5, perSourceNode: 2, perTargetNode: 2, perZone: 4, reserve: 1}
    # load: {source: Metrics}       # measured load of the nodes; or Prometheus
  forge: FORGE
  mode: Observe                     # plans and comments, applies nothing; later: Enforce
  approval: Plan
  allowAuto: false
  snapshotMaxAge: PT30M
  planExpiry: PT24H
  proposals: {announce: P3D, stabilize: PT15M, maxOpen: 10, perVmCooldown: PT24H}
  breaker: {failures: 3, unexpectedLandings: 1, foreignReturns: 2}
  bandwidth: 64Mi                   # bytes a second; the assumption behind estimated times
  # manifests: [{path: vms}]        # where VM manifests live, for drift checks
"""

_README = """\
# Where our virtual machines run

This repository says where the VMs of our clusters run. gitbot reads it, plans the live
migrations that make it true, shows the plan on the pull request, and carries it out on merge.

| file | what it is |
|---|---|
| `FILE` | configuration |
| `intents/CLUSTER/rules.yaml` | standing rules: RULE_KINDS |
| `intents/CLUSTER/windows.yaml` | WINDOW_KINDS |
| `intents/CLUSTER/requests/` | MigrationRequests, one file each |
| `intents/CLUSTER/gitbot/` | written only by the bot's pull requests |
| `policies/` | own policies, added to those that ship with gitbot |

Names that begin with `example` stand for yours.

```
gitbot lint                          # is everything written right?
gitbot schema --all --folder .schemas  # schemas for the editor
gitbot plan                          # what would move? needs a cluster, or --snapshot FILE
```

FORGE_STEPS

`mode: Observe` in `FILE` plans and comments, but applies nothing. When you trust what it
shows, write `mode: Enforce`.
"""


def _kinds(role: Role) -> list[Kind[Any]]:
    return [kind for kind in KINDS.values() if kind.role is role and kind.example]


def _examples(role: Role) -> str:
    return "---\n".join(kind.example for kind in _kinds(role))


def _names(role: Role) -> str:
    return ", ".join(kind.name for kind in _kinds(role))


def example_files(*, cluster: str, forge: str, steps: str) -> dict[str, str]:
    """Repository path to text of the example.

    `forge` is the value of spec.forge in YAML, `steps` how the README goes on about the forge.
    """
    texts = {
        CONFIGURATION_FILE: _CONFIGURATION,
        "README.md": _README,
        f"intents/{cluster}/rules.yaml": _examples(Role.RULE),
        f"intents/{cluster}/windows.yaml": _examples(Role.WINDOW),
        f"intents/{cluster}/requests/example-db-1-away.yaml": _examples(Role.REQUEST),
    }
    return {
        path: text.replace("FORGE_STEPS\n", steps)
        .replace("RULE_KINDS", _names(Role.RULE))
        .replace("WINDOW_KINDS", _names(Role.WINDOW))
        .replace("API_VERSION", API_VERSION)
        .replace("`FILE`", f"`{CONFIGURATION_FILE}`")
        .replace("CLUSTER", cluster)
        .replace("FORGE", forge)
        for path, text in texts.items()
    }
