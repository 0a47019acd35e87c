"""Signs commits with an SSH key, for forges whose rules ask for verified signatures.

gitbot signs by itself. Git would start ssh-keygen, which reads the key from a file and does not run
for a user ID without an entry in /etc/passwd; containers often run with such an ID.
"""

from __future__ import annotations

import base64
import hashlib
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gitbot.adapters.environment import secret
from gitbot.adapters.git.process import Git
from gitbot.errors import UsageError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.serialization import SSHPrivateKeyTypes

SIGNING_KEY = "GITBOT_SIGNING_KEY"
SIGNING_KEY_FILE = "GITBOT_SIGNING_KEY_FILE"
SIGNING_EMAIL = "GITBOT_SIGNING_EMAIL"
_MAKE = "make one without a passphrase: ssh-keygen -t ed25519 -N '' -f FILE"
_MAGIC = b"SSHSIG"
_HASH = b"sha512"
_NAMESPACE = b"git"


@dataclass(frozen=True, slots=True, kw_only=True)
class SigningKey:
    """A private key. `sign` makes a raw signature by `algorithm`; the same bytes, the same one.

    `public` is the public key as a forge takes it (`ssh-ed25519 AAAA...`). `email` is the address
    of the account that has it; "" is gitbot's own.
    """

    public: str
    email: str
    algorithm: bytes
    sign: Callable[[bytes], bytes] = field(repr=False)

    def signed(self, commit: bytes, *, header: bytes = b"gpgsig") -> bytes:
        """A commit object with a signature over what it was."""
        text = b"\n ".join(self._signature(commit).splitlines())
        head, end, message = commit.partition(b"\n\n")
        return b"%s\n%s %s%s%s" % (head, header, text, end, message)

    def _signature(self, message: bytes) -> bytes:
        """As openssh's PROTOCOL.sshsig has it, in Git's namespace."""
        about = _string(_NAMESPACE) + _string(b"") + _string(_HASH)
        raw = self.sign(_MAGIC + about + _string(hashlib.sha512(message).digest()))
        key = base64.b64decode(self.public.split()[1])
        signature = _string(self.algorithm) + _string(raw)
        blob = _MAGIC + (1).to_bytes(4, "big") + _string(key) + about + _string(signature)
        lines = textwrap.wrap(base64.b64encode(blob).decode("ascii"))  # 70 columns, as ssh-keygen
        text = ["-----BEGIN SSH SIGNATURE-----", *lines, "-----END SSH SIGNATURE-----"]
        return "\n".join(text).encode("ascii")


def _string(data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + data


def read_signing_key(environment: Mapping[str, str]) -> SigningKey | None:
    """The key that the environment has or names; None if it has none. Raises UsageError."""
    text = secret(environment, SIGNING_KEY)
    if not text:
        return None
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415 - only if one signs
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415

    name = SIGNING_KEY if environment.get(SIGNING_KEY) else SIGNING_KEY_FILE
    try:
        key = serialization.load_ssh_private_key(f"{text.strip()}\n".encode(), password=None)
    except TypeError as error:
        raise UsageError(f"the key of {name} has a passphrase", hint=_MAKE) from error
    except (ValueError, UnsupportedAlgorithm) as error:
        raise UsageError(f"{name} has no private key in OpenSSH's format", hint=_MAKE) from error
    return _of_kind(key, name, environment.get(SIGNING_EMAIL, "").strip())


def _of_kind(key: SSHPrivateKeyTypes, name: str, email: str) -> SigningKey:
    """Refuses kinds that sign the same data differently each time: a commit must have one id."""
    from cryptography.hazmat.primitives import hashes, serialization  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric import ed25519, padding, rsa  # noqa: PLC0415

    encoding, form = serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH
    shown = key.public_key().public_bytes(encoding, form).decode("ascii")
    match key:
        case ed25519.Ed25519PrivateKey():
            return SigningKey(public=shown, email=email, algorithm=b"ssh-ed25519", sign=key.sign)
        case rsa.RSAPrivateKey():

            def by_rsa(data: bytes) -> bytes:
                return key.sign(data, padding.PKCS1v15(), hashes.SHA512())

            return SigningKey(public=shown, email=email, algorithm=b"rsa-sha2-512", sign=by_rsa)
    raise UsageError(f"the key of {name} is neither Ed25519 nor RSA", hint=_MAKE)


def sign_commit(git: Git, commit: str, key: SigningKey) -> str:
    """The id of the same commit with a signature."""
    header = b"gpgsig" if len(commit) == 40 else b"gpgsig-sha256"
    signed = key.signed(git.run(["cat-file", "commit", commit]), header=header)
    found = git.run(["hash-object", "-t", "commit", "-w", "--stdin"], stdin=signed)
    return found.decode("ascii").strip()
