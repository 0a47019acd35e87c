"""The schema of a VirtualMachineInstance, closed for the fields that decide placement.

Fields: KubeVirt, api/core/v1/{types,schema}.go, and Kubernetes' own for affinity, tolerations
and topology spread. Disks, networks, probes and devices stay open, because the simulation does not
read them.
"""

from __future__ import annotations

from gitbot.simulation.schema_parts import (
    BOOLEAN,
    INT_OR_STRING,
    INTEGER,
    OPEN,
    STRING,
    Schema,
    fields,
    list_of,
    map_of,
    opened,
)

_STRINGS = list_of(STRING)
_REQUIREMENTS = list_of(
    fields(key=STRING, operator=STRING, values=_STRINGS, required=("key", "operator"))
)
LABEL_SELECTOR = fields(matchExpressions=_REQUIREMENTS, matchLabels=map_of(STRING))
_NODE_TERM = fields(matchExpressions=_REQUIREMENTS, matchFields=_REQUIREMENTS)
_POD_TERM = fields(
    labelSelector=LABEL_SELECTOR,
    matchLabelKeys=_STRINGS,
    mismatchLabelKeys=_STRINGS,
    namespaceSelector=LABEL_SELECTOR,
    namespaces=_STRINGS,
    topologyKey=STRING,
    required=("topologyKey",),
)
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def _rules(*, required: Schema, preferred: Schema) -> Schema:
    properties = {_REQUIRED: required, _PREFERRED: list_of(preferred)}
    return {"type": "object", "properties": properties}


def _pod_affinity() -> Schema:
    weighted = fields(
        podAffinityTerm=_POD_TERM, weight=INTEGER, required=("podAffinityTerm", "weight")
    )
    return _rules(required=list_of(_POD_TERM), preferred=weighted)


def _node_affinity() -> Schema:
    weighted = fields(preference=_NODE_TERM, weight=INTEGER, required=("preference", "weight"))
    terms = fields(nodeSelectorTerms=list_of(_NODE_TERM), required=("nodeSelectorTerms",))
    return _rules(required=terms, preferred=weighted)


AFFINITY = fields(
    nodeAffinity=_node_affinity(), podAffinity=_pod_affinity(), podAntiAffinity=_pod_affinity()
)
_TOLERATION = fields(
    effect=STRING, key=STRING, operator=STRING, tolerationSeconds=INTEGER, value=STRING
)
_SPREAD = fields(
    labelSelector=LABEL_SELECTOR,
    matchLabelKeys=_STRINGS,
    maxSkew=INTEGER,
    minDomains=INTEGER,
    nodeAffinityPolicy=STRING,
    nodeTaintsPolicy=STRING,
    topologyKey=STRING,
    whenUnsatisfiable=STRING,
    required=("maxSkew", "topologyKey", "whenUnsatisfiable"),
)
_CPU = fields(
    cores=INTEGER,
    dedicatedCpuPlacement=BOOLEAN,
    features=list_of(fields(name=STRING, policy=STRING, required=("name",))),
    isolateEmulatorThread=BOOLEAN,
    maxSockets=INTEGER,
    model=STRING,
    numa=OPEN,
    realtime=OPEN,
    sockets=INTEGER,
    threads=INTEGER,
)
_MEMORY = fields(
    guest=INT_OR_STRING,
    hugepages=fields(pageSize=STRING),
    maxGuest=INT_OR_STRING,
    reservedOverhead=fields(addedOverhead=INT_OR_STRING, memLock=STRING),
)
_DOMAIN = fields(
    chassis=OPEN,
    clock=OPEN,
    cpu=_CPU,
    devices=OPEN,
    features=OPEN,
    firmware=OPEN,
    ioThreads=OPEN,
    ioThreadsPolicy=STRING,
    launchSecurity=OPEN,
    machine=fields(type=STRING),
    memory=_MEMORY,
    rebootPolicy=STRING,
    resources=fields(
        limits=map_of(INT_OR_STRING),
        overcommitGuestOverhead=BOOLEAN,
        requests=map_of(INT_OR_STRING),
    ),
    required=("devices",),
)
INSTANCE_SPEC = fields(
    accessCredentials=list_of(OPEN),
    affinity=AFFINITY,
    architecture=STRING,
    dnsConfig=OPEN,
    dnsPolicy=STRING,
    domain=_DOMAIN,
    evictionStrategy=STRING,
    hostname=STRING,
    livenessProbe=OPEN,
    networks=list_of(OPEN),
    nodeSelector=map_of(STRING),
    priorityClassName=STRING,
    readinessProbe=OPEN,
    resourceClaims=list_of(OPEN),
    schedulerName=STRING,
    startStrategy=STRING,
    subdomain=STRING,
    terminationGracePeriodSeconds=INTEGER,
    tolerations=list_of(_TOLERATION),
    topologySpreadConstraints=list_of(_SPREAD),
    utilityVolumes=list_of(OPEN),
    volumes=list_of(OPEN),
    required=("domain",),
)
INSTANCE_STATUS = opened(
    conditions=list_of(OPEN),
    evacuationNodeName=STRING,
    migrationState=OPEN,
    nodeName=STRING,
    phase=STRING,
)
TEMPLATE = fields(metadata=OPEN, spec=INSTANCE_SPEC)
