"""What virt-api refuses in the resource claims of a VMI and in what names them.

Source: KubeVirt 1.9.0, pkg/dra/admitter and pkg/network/admitter/dra.go, in their order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gitbot.kubernetes.labels import subdomain_problems
from gitbot.kubernetes.objects import Json, KubernetesObject, at
from gitbot.kubevirt.kubevirt_object import gate
from gitbot.kubevirt.webhook_answers import Cause, invalid_value
from tests.virt_api.causes import required_value
from tests.virt_api.names import label_problems

_KINDS = (("gpus", "GPU", "GPUsWithDRA"), ("hostDevices", "HostDevice", "HostDevicesWithDRA"))
_SOURCES = ("resourceClaimName", "resourceClaimTemplateName")


def claims(spec: Json, path: str, kubevirt: KubernetesObject) -> Iterator[Cause]:
    """Claims have a name and a source; devices name a claim that is there."""
    given = list(spec.get("resourceClaims") or ())
    yield from _claims(given, f"{path}.resourceClaims")
    named: set[str] = set()
    pairs: list[tuple[str, dict[str, int], str]] = []
    for part, kind, needed in _KINDS:
        devices = list(enumerate(at(spec, "domain", "devices", part, default=[])))
        field = f"{path}.domain.devices.{part}"
        claimed = [(index, item) for index, item in devices if _claimed(item)]
        plain = [item for _, item in devices if not _claimed(item)]
        if part == "gpus" and claimed and plain:
            text = f"vmi.spec.domain.devices.{part} contains both DRA and non-DRA {kind}s; each "
            yield invalid_value(field, f"{text}{kind} must be either DRA or non-DRA")
            continue
        yield from _plain(plain, part, kind, field)
        if claimed and not gate(kubevirt, needed):
            text = f"contains DRA enabled {kind}s but feature gate is not enabled"
            yield invalid_value(field, f"vmi.spec.domain.devices.{part} {text}")
            continue
        own: dict[str, int] = {}
        yield from _requests(claimed, kind, field, named, own)
        pairs.append((f"{kind}s", own, field))
    if gate(kubevirt, "NetworkDevicesWithDRA"):
        pairs.append(("Networks", _network_pairs(spec), f"{path}.networks"))
    yield from _shared_pairs(pairs)
    if not named <= {claim.get("name") for claim in given}:
        text = (
            "vmi.spec.resourceClaims must specify all claims used in vmi.spec.domain.devices.gpus "
            "and vmi.spec.domain.devices.hostDevices"
        )
        yield invalid_value(f"{path}.resourceClaims", text)


def _claimed(item: Json) -> bool:
    return not item.get("deviceName") and ("claimName" in item or "requestName" in item)


def _claims(given: Sequence[Json], path: str) -> Iterator[Cause]:
    names: list[str] = []
    for index, claim in enumerate(given):
        field, name = f"{path}[{index}]", str(claim.get("name") or "")
        if not name:
            yield required_value(f"{field}.name", f"{field}.name is a required field")
        elif name in names:
            text = f'duplicate resourceClaims name "{name}"'
            yield Cause(reason="FieldValueDuplicate", message=text, field=f"{field}.name")
        elif problems := label_problems(name):
            text = "does not conform to the kubernetes DNS_LABEL rules: "
            yield invalid_value(f"{field}.name", f"{field}.name {text}{', '.join(problems)}")
        names.append(name)
        sources = [source for source in _SOURCES if claim.get(source) is not None]
        if len(sources) == 2:
            text = "at most one of resourceClaimName or resourceClaimTemplateName may be specified"
            yield invalid_value(field, text)
        if not sources:
            text = "must specify one of: resourceClaimName, resourceClaimTemplateName"
            yield invalid_value(field, text)
        for source in sources:
            for problem in subdomain_problems(str(claim[source])):
                yield invalid_value(f"{field}.{source}", problem)


def _plain(devices: Sequence[Json], part: str, kind: str, field: str) -> Iterator[Cause]:
    where = f"vmi.spec.domain.devices.{part} contains {kind}s"
    for item in devices:
        if not item.get("deviceName"):
            text = f"each {kind} must specify either a deviceName or a claimRequest"
            yield required_value(field, f"{where} without deviceName or claimRequest; {text}")
        elif "claimName" in item or "requestName" in item:
            yield invalid_value(field, f"{where} with both deviceName and claimRequest")


def _requests(
    devices: Sequence[tuple[int, Json]],
    kind: str,
    field: str,
    named: set[str],
    own: dict[str, int],
) -> Iterator[Cause]:
    """Each request is used once; `named` and `own` (pair to first index) grow."""
    for index, item in devices:
        claim, request = item.get("claimName") or "", item.get("requestName") or ""
        for key, value in (("claimName", claim), ("requestName", request)):
            if not value:
                text = f"{key} is required for DRA {kind}"
                yield required_value(f"{field}[{index}].{key}", text)
        if not claim or not request:
            continue
        named.add(claim)
        pair = f"{claim}/{request}"
        if pair in own:
            text = f'duplicate claimName/requestName pair "{pair}"'
            yield Cause(reason="FieldValueDuplicate", message=text, field=f"{field}[{index}]")
        own.setdefault(pair, index)


def _shared_pairs(kinds: Sequence[tuple[str, dict[str, int], str]]) -> Iterator[Cause]:
    """No request twice among devices of different kinds."""
    owners: dict[str, str] = {}
    for kind, pairs, field in kinds:
        for pair, index in pairs.items():
            here = f"{kind}[{index}]"
            if pair in owners:
                text = f'duplicate claimName/requestName pair "{pair}" between {owners[pair]}'
                where = f"{field}[{index}]"
                message = f"{text} and {here}"
                yield Cause(reason="FieldValueDuplicate", message=message, field=where)
            owners.setdefault(pair, here)


def _network_pairs(spec: Json) -> dict[str, int]:
    pairs: dict[str, int] = {}
    for index, network in enumerate(spec.get("networks") or ()):
        claim, request = (at(network, "resourceClaim", key) for key in ("claimName", "requestName"))
        if claim and request:
            pairs.setdefault(f"{claim}/{request}", index)
    return pairs


def claimed_networks(spec: Json, path: str, kubevirt: KubernetesObject) -> Iterator[Cause]:
    """Networks that come from a claim: none of Multus beside them, each claim named and there."""
    networks = list(spec.get("networks") or ())
    if not any(network.get("resourceClaim") is not None for network in networks):
        return
    if not gate(kubevirt, "NetworkDevicesWithDRA"):
        text = "contains DRA networks but NetworkDevicesWithDRA feature gate is not enabled"
        yield invalid_value(f"{path}.networks", f"vmi.spec.networks {text}")
        return
    if any(network.get("multus") is not None for network in networks):
        text = "mixing Multus and DRA resourceClaim networks in the same VMI is not supported"
        yield invalid_value(f"{path}.networks", text)
        return
    pairs = _network_pairs(spec)
    for index, network in enumerate(networks):
        if network.get("resourceClaim") is not None:
            yield from _claimed_network(spec, path, index, pairs)


def _claimed_network(spec: Json, path: str, index: int, pairs: dict[str, int]) -> Iterator[Cause]:
    network, field = spec["networks"][index], f"{path}.networks[{index}]"
    devices: Json = at(spec, "domain", "devices", default={})
    for interface in devices.get("interfaces") or ():
        if interface.get("name") == network.get("name"):
            if interface.get("sriov") is None and interface.get("binding") is None:
                text = f'DRA network "{network.get("name")}" requires an SR-IOV or binding plugin'
                yield invalid_value(f"{path}.domain.devices.interfaces", f"{text} interface")
            break
    claim, request = (
        network["resourceClaim"].get(key) or "" for key in ("claimName", "requestName")
    )
    for key, value in (("claimName", claim), ("requestName", request)):
        if not value:
            text = f"{key} is required for DRA network"
            yield required_value(f"{field}.resourceClaim.{key}", text)
    if not claim or not request:
        return
    if claim not in {item.get("name") for item in spec.get("resourceClaims") or ()}:
        text = f'network references resourceClaim "{claim}" which is not defined in '
        where = f"{field}.resourceClaim.claimName"
        yield Cause(reason="FieldValueNotFound", message=f"{text}spec.resourceClaims", field=where)
    pair = f"{claim}/{request}"
    if pairs[pair] != index:
        text = f'duplicate claimName/requestName combination "{pair}"'
        yield Cause(reason="FieldValueDuplicate", message=text, field=field)
