"""A repository of many intents, one a file, made from a seed."""

import random
from pathlib import Path

CONFIGURATION = """\
apiVersion: placement.gitbot.dev/v1alpha1
kind: Configuration
metadata:
  name: default
spec:
  clusters:
    - name: prod
      timeZone: Europe/Berlin
  mode: Enforce
"""
_REQUEST = """\
apiVersion: placement.gitbot.dev/v1alpha1
kind: MigrationRequest
metadata:
  name: move-{number}
  namespace: team-{team}
spec:
  vms:
    names: [vm-{number}-a, vm-{number}-b]
  target:
    zone: zone-{zone}
  reason: Troubleshooting
  note: Ticket {number} asks for it
  notBefore: "2026-12-{day:02}T22:00+01:00"
  deadline: "2026-12-{day:02}T23:30+01:00"
"""
_ZONES = """\
apiVersion: placement.gitbot.dev/v1alpha1
kind: ZoneAntiAffinity
metadata:
  name: apart-{number}
  namespace: team-{team}
spec:
  selector:
    matchLabels:
      app: app-{number}
  maxPerDomain: 1
  enforcement: Required
"""
_RULE = """\
apiVersion: placement.gitbot.dev/v1alpha1
kind: PlacementRule
metadata:
  name: rule-{number}
  namespace: team-{team}
spec:
  selector:
    matchLabels:
      app: app-{number}
  antiAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      - topologyKey: kubernetes.io/hostname
        labelSelector:
          matchLabels:
            app: app-{number}
  topologySpread:
    - topologyKey: topology.kubernetes.io/zone
      maxSkew: 1
      whenUnsatisfiable: DoNotSchedule
      labelSelector:
        matchLabels:
          app: app-{number}
"""
_WINDOW = """\
apiVersion: placement.gitbot.dev/v1alpha1
kind: MaintenanceWindow
metadata:
  name: window-{number}
spec:
  schedule:
    start: "2026-12-{day:02}T22:00"
    duration: PT6H
    timeZone: Europe/Berlin
  nodes:
    names: [worker-{number}, worker-{number}-b]
  drain:
    maxNodesAtOnce: 1
"""
_FREEZE = """\
apiVersion: placement.gitbot.dev/v1alpha1
kind: FreezeWindow
metadata:
  name: freeze-{number}
spec:
  namespaces: [closing-{number}]
  schedule:
    start: "2026-12-{day:02}T00:00"
    duration: P1D
    timeZone: Europe/Berlin
  reason: Closing of the books
"""
_MIX = (*[_REQUEST] * 8, *[_ZONES] * 6, *[_RULE] * 3, *[_WINDOW] * 2, _FREEZE)


def write(root: Path, count: int, *, seed: int = 1) -> None:
    """Write a configuration and that many intents below a folder."""
    draw = random.Random(seed)
    (root / ".gitbot.yaml").write_text(CONFIGURATION)
    for number in range(count):
        template = _MIX[number % len(_MIX)]
        team = draw.randrange(40)
        text = template.format(
            number=number, team=team, zone=draw.choice("abc"), day=draw.randrange(1, 29)
        )
        folder = root / "intents" / "prod" / f"team-{team}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"intent-{number:05}.yaml").write_text(text)
