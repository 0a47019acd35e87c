"""What virt-api refuses in the resource claims of a VMI and in the devices that name them.

Source: KubeVirt 1.9.0, pkg/dra/admitter, in its order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gitbot.kubevirt.configuration import gate
from gitbot.kubevirt.rule import invalid_value, required_value
from gitbot.kubevirt.verdicts import Cause
from gitbot.model.label_syntax import label_problems, subdomain_problems
from gitbot.model.objects import Json, KubernetesObject, at

_KINDS = (("gpus", "GPU", "GPUsWithDRA"), ("hostDevices", "HostDevice", "HostDevicesWithDRA"))
_SOURCES = ("resourceClaimName", "resourceClaimTemplateName")


def claims(spec: Json, path: str, kubevirt: KubernetesObject) -> Iterator[Cause]:
    """Claims have a name and a source; devices name a claim that is there."""
    given = list(spec.get("resourceClaims") or ())
    yield from _claims(given, f"{path}.resourceClaims")
    named: set[str] = set()
    pairs: dict[str, str] = {}
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
        yield from _requests(claimed, kind, field, named, pairs)
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
    pairs: dict[str, str],
) -> Iterator[Cause]:
    """Each request is used once; `named` and `pairs` grow."""
    own: dict[str, int] = {}
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
    for pair, index in own.items():
        here = f"{kind}s[{index}]"
        if pair in pairs:
            text = f'duplicate claimName/requestName pair "{pair}" between {pairs[pair]} and {here}'
            yield Cause(reason="FieldValueDuplicate", message=text, field=f"{field}[{index}]")
        pairs.setdefault(pair, here)
