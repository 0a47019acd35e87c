"""What virt-api refuses in how a guest boots and is kept secret from its host.

Source: KubeVirt 1.9.0, vmi-create-admitter.go (validateDomainSpec, validateLaunchSecurity) and
pkg/virt-api/webhooks/amd64.go.
"""

from __future__ import annotations

from collections.abc import Iterator

from gitbot.kubernetes.objects import Json, KubernetesObject, at
from gitbot.kubevirt.kubevirt_object import gate
from gitbot.kubevirt.webhook_answers import Cause, invalid_value


def secure_boot(spec: Json, path: str, kubevirt: KubernetesObject) -> Iterator[Cause]:
    """Secure boot needs system management mode, but for a guest of TDX."""
    efi = at(spec, "domain", "firmware", "bootloader", "efi")
    smm = at(spec, "domain", "features", "smm")
    managed = smm is not None and smm.get("enabled") is not False
    secure = efi is not None and efi.get("secureBoot") is not False
    if secure and not managed and at(spec, "domain", "launchSecurity", "tdx") is None:
        text = "has EFI SecureBoot enabled. SecureBoot requires SMM, which is currently disabled."
        yield invalid_value(f"{path}.domain", f"{path}.domain {text}")


def launch_security(spec: Json, path: str, kubevirt: KubernetesObject) -> Iterator[Cause]:
    """One kind at a time, with its gate on, on an architecture that has any."""
    security = at(spec, "domain", "launchSecurity")
    architecture = spec.get("architecture") or "amd64"
    if security is None or architecture == "s390x":
        return
    if architecture != "amd64":
        text = f"No launchSecurity support for architecture: {architecture}"
        yield invalid_value(f"{path}.architecture", text)
        return
    kinds = [kind for kind in ("sev", "snp", "tdx") if security.get(kind) is not None]
    field = f"{path}.launchSecurity"
    if len(kinds) != 1:
        text = "One and only one launchSecurity type can be set"
        yield Cause(reason="FieldValueForbidden", message=text, field=field)
        return
    needed = "WorkloadEncryptionTDX" if kinds == ["tdx"] else "WorkloadEncryptionSEV"
    if not gate(kubevirt, needed):
        yield invalid_value(field, f"{needed} feature gate is not enabled in kubevirt-config")
        return
    yield from _encrypted(spec, field, kinds[0])


def _encrypted(spec: Json, field: str, kind: str) -> Iterator[Cause]:
    name = kind.upper()
    smm = at(spec, "domain", "features", "smm")
    if kind == "tdx" and smm is not None and smm.get("enabled") is not False:
        yield invalid_value(field, "TDX does not work along with SMM")
    firmware = at(spec, "domain", "firmware", "bootloader", "efi")
    if firmware is None:
        yield invalid_value(field, f"{name} requires OVMF (UEFI)")
    elif kind != "tdx" and firmware.get("secureBoot") is not False:
        yield invalid_value(field, f"{name} does not work along with SecureBoot")
    if firmware is not None and kind != "sev" and firmware.get("persistent"):
        yield invalid_value(field, f"{name} does not work along with Persistent EFI variables")
    attested = at(spec, "domain", "launchSecurity", "sev", "attestation") is not None
    if attested and spec.get("startStrategy") != "Paused":
        yield invalid_value(field, "SEV attestation requires VMI StartStrategy 'Paused'")
    for interface in at(spec, "domain", "devices", "interfaces", default=[]):
        if interface.get("bootOrder") is not None:
            text = f"{name} does not work with bootable NICs: {interface.get('name')}"
            yield invalid_value(field, text)
