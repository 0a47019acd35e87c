"""The texts that `gitbot init` writes."""

from __future__ import annotations

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

_RULES = """\
# A standing rule: at most one of these VMs in a zone. gitbot finds breaches and proposes the
# fewest moves that heal them; with `admission: Render` the scheduler keeps the rule too.
apiVersion: API_VERSION
kind: ZoneAntiAffinity
metadata: {name: example-db, namespace: example}
spec:
  selector: {matchLabels: {app: example-db}}
  maxPerDomain: 1
  enforcement: Required             # or Preferred
  heal: Report                      # Propose opens a pull request; Report only says so
---
# The full power: Kubernetes' own words over a VM selector.
apiVersion: API_VERSION
kind: PlacementRule
metadata: {name: example-web-spread, namespace: example}
spec:
  selector: {matchLabels: {app: example-web}}
  topologySpread:
  - maxSkew: 1
    topologyKey: topology.kubernetes.io/zone
    whenUnsatisfiable: DoNotSchedule
    labelSelector: {matchLabels: {app: example-web}}
  enforcement: Preferred
  heal: Report
---
# A node that stays above a measured load gives one VM away. Needs the cluster's `load`.
apiVersion: API_VERSION
kind: LoadRule
metadata: {name: example-cool}
spec:
  metric: cpu
  above: 85                         # percent
  sustained: PT30M
  namespaces: [example]
  heal: Report                      # Propose opens a pull request
"""

_WINDOWS = """\
# Nodes leave service: the bot proposes a drain plan for each opening, three days ahead, and
# brings the VMs home afterwards.
apiVersion: API_VERSION
kind: MaintenanceWindow
metadata: {name: example-firmware}
spec:
  nodes: {names: [example-node-1]}
  schedule:
    start: "2027-01-03T22:00"       # local time, in quotes
    timeZone: UTC
    duration: PT4H
    recurrence: "FREQ=MONTHLY;BYDAY=1SU"
  drain: {lead: PT2H, maxNodesAtOnce: 1, order: ByZone, notMigratable: BlockNode}
  returnHome: Propose
---
# Nothing of gitbot's moves here while it is open; a freeze wins over every window.
apiVersion: API_VERSION
kind: FreezeWindow
metadata: {name: example-quarter-close}
spec:
  namespaces: [example]
  schedule:
    start: "2027-03-29T00:00"
    timeZone: UTC
    duration: P4D
    recurrence: "FREQ=YEARLY;BYMONTH=3,6,9,12;BYMONTHDAY=29"
  reason: quarter close
"""

_REQUEST = """\
# A one-off: move one VM, exactly once. Merging the pull request that adds this file approves
# the plan that the bot showed on it. Name your own VM and node, then open a pull request.
apiVersion: API_VERSION
kind: MigrationRequest
metadata: {name: example-db-1-away, namespace: example}
spec:
  vms: {names: [example-db-1]}
  target: {node: example-node-2}    # or zone, or nodeSelector; absent: anywhere but here
  reason: Maintenance
  note: new power supplies for the rack
  deadline: "2027-01-10T06:00Z"     # latest estimated end
  window: example-firmware          # only while that window is open
"""

_README = """\
# Where our virtual machines run

This repository says where the VMs of our clusters run. gitbot reads it, plans the live
migrations that make it true, shows the plan on the pull request, and carries it out on merge.

| file | what it is |
|---|---|
| `FILE` | configuration |
| `intents/CLUSTER/rules.yaml` | standing rules: ZoneAntiAffinity, PlacementRule, LoadRule |
| `intents/CLUSTER/windows.yaml` | MaintenanceWindow, FreezeWindow |
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


def example_files(*, cluster: str, forge: str, steps: str) -> dict[str, str]:
    """Repository path to text of the example.

    `forge` is the value of spec.forge in YAML, `steps` how the README goes on about the forge.
    """
    texts = {
        CONFIGURATION_FILE: _CONFIGURATION,
        "README.md": _README,
        f"intents/{cluster}/rules.yaml": _RULES,
        f"intents/{cluster}/windows.yaml": _WINDOWS,
        f"intents/{cluster}/requests/example-db-1-away.yaml": _REQUEST,
    }
    return {
        path: text.replace("FORGE_STEPS\n", steps)
        .replace("API_VERSION", API_VERSION)
        .replace("`FILE`", f"`{CONFIGURATION_FILE}`")
        .replace("CLUSTER", cluster)
        .replace("FORGE", forge)
        for path, text in texts.items()
    }
