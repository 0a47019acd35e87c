"""The files that the demo commits."""

from __future__ import annotations

CONFIGURATION = """\
apiVersion: placement.gitbot.dev/v1alpha1
kind: Configuration
metadata: {name: default}
spec:
  clusters:
  - name: iberia
    timeZone: Europe/Madrid
  forge: {type: local, repository: origin, baseBranch: main}
  proposals: {stabilize: PT0S}
"""

READ_ME = """\
# Placement intents of cluster iberia

Made by `gitbot demo`.
"""

RULE = """\
apiVersion: placement.gitbot.dev/v1alpha1
kind: ZoneAntiAffinity
metadata: {name: mssql2016, namespace: customapp}
spec:
  selector: {matchLabels: {kubevirt.io/domain: mssql2016}}
  topologyKey: topology.kubernetes.io/zone
  maxPerDomain: 1
  enforcement: Required
  heal: Propose
"""


def request(name: str, *, vm: str, node: str, reason: str, note: str) -> str:
    """A MigrationRequest of one VM to one node."""
    return f"""\
apiVersion: placement.gitbot.dev/v1alpha1
kind: MigrationRequest
metadata: {{name: {name}, namespace: customapp}}
spec:
  vms: {{names: [{vm}]}}
  target: {{node: {node}}}
  reason: {reason}
  note: "{note}"
"""
