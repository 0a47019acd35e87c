"""The forms of text that fields hold."""

from collections.abc import Callable
from typing import Any

import pytest

from gitbot.documents import formats
from gitbot.model.plan.findings import Refusal

READ: list[tuple[Callable[[str], Any], str, Any]] = [
    (formats.amount, "64Mi", 67_108_864),
    (formats.amount, "1.5Ki", 1536),
    (formats.dns_label, "a-1", "a-1"),
    (formats.dns_subdomain, "a.b-c.1", "a.b-c.1"),
    (formats.label_key, "example.com/a_B.c", "example.com/a_B.c"),
    (formats.label_value, "", ""),
    (formats.branch_name, "release/1.2", "release/1.2"),
    (formats.repository_path, "clusters/prod/vms", "clusters/prod/vms"),
    (formats.concern, "drain-scu-firmware-20261206T210000Z", "drain-scu-firmware-20261206T210000Z"),
]

REFUSED: list[tuple[Callable[[str], Any], str, str]] = [
    (formats.amount, "0", "write 64Mi"),
    (formats.amount, "1500m", "write 64Mi"),
    (formats.amount, "-1", "write 64Mi"),
    (formats.dns_label, "a.b", "rename it"),
    (formats.dns_label, "A_b", 'did you mean "a-b"?'),
    (formats.dns_label, "a" * 64, "shorten it"),
    (formats.dns_subdomain, "a..b", "rename it"),
    (formats.dns_subdomain, "", "rename it"),
    (formats.dns_subdomain, "a\n", "rename it"),
    (formats.ref_name, "a.lock", "rename it"),
    (formats.label_key, "a/b/c", "see the labels of the VM"),
    (formats.label_key, "x" * 64, "see the labels of the VM"),
    (formats.label_value, "-a", "see the labels of the VM"),
    (formats.filled_label_value, "", "see the labels of the nodes"),
    (formats.branch_name, "-x", 'write it as "main", without refs/'),
    (formats.branch_name, "a@{1}", 'write it as "main", without refs/'),
    (formats.repository_path, "../x", 'write it as "vms", without . or .. or a root'),
    (formats.repository_path, "x/.git/y", 'write it as "vms", without . or .. or a root'),
    (formats.concern, "a b", "only gitbot writes proposals"),
    (formats.digest_text, "sha256:AB", "only gitbot writes this field"),
]


@pytest.mark.parametrize(("read", "text", "value"), READ)
def test_read(read: Callable[[str], Any], text: str, value: object) -> None:
    assert read(text) == value


@pytest.mark.parametrize(("read", "text", "hint"), REFUSED)
def test_refused(read: Callable[[str], Any], text: str, hint: str) -> None:
    with pytest.raises(Refusal) as refusal:
        read(text)
    assert refusal.value.hint == hint
