"""gitbot signs its commits, and what it signs is what Git and ssh-keygen call verified."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from gitbot.adapters.git.process import Git
from gitbot.adapters.git.repository import GitRepository
from gitbot.adapters.git.signing import (
    SIGNING_EMAIL,
    SIGNING_KEY,
    SIGNING_KEY_FILE,
    SigningKey,
    read_signing_key,
)
from gitbot.errors import RepositoryError, UsageError

FORMAT = serialization.PrivateFormat.OpenSSH
Private = ed25519.Ed25519PrivateKey | rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey
KINDS: dict[str, Callable[[], Private]] = {
    "Ed25519": ed25519.Ed25519PrivateKey.generate,
    "RSA": lambda: rsa.generate_private_key(65537, 2048),
}
REFUSES = """#!/bin/sh
while read -r old new ref; do
  git cat-file commit "$new" | grep -q '^gpgsig' && continue
  echo "error: GH006: Commits must have verified signatures." >&2
  exit 1
done
"""


def text(key: Private) -> str:
    none = serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, FORMAT, none).decode()


def known(kind: str = "Ed25519") -> SigningKey:
    found = read_signing_key({SIGNING_KEY: text(KINDS[kind]()), SIGNING_EMAIL: "bot@acme.example"})
    assert found is not None
    return found


def bare(folder: Path) -> Path:
    Git(folder).run(["init", "--bare", "--quiet"])
    return folder


def clone(remote: Path, folder: Path, key: SigningKey | None) -> GitRepository:
    return GitRepository.clone(str(remote), folder, key=key)


def commit(repository: GitRepository, data: bytes = b"1\n", *, expected: str | None = None) -> str:
    return repository.write_commit(
        branch="gitbot/ledger",
        expected=expected,
        files={"a": data},
        message="Record\n\nof two lines",
        time=1_800_000_000,
    )


with_ssh_keygen = pytest.mark.skipif(
    shutil.which("ssh-keygen") is None, reason="ssh-keygen is not installed"
)


@with_ssh_keygen
@pytest.mark.parametrize("kind", KINDS)
def test_git_verifies_each_commit(tmp_path: Path, kind: str) -> None:
    remote, key = bare(tmp_path / "remote.git"), known(kind)
    repository = clone(remote, tmp_path / "mirror", key)
    first = commit(repository)
    second = commit(repository, b"2\n", expected=first)
    signers = tmp_path / "signers"
    signers.write_text(f"bot@acme.example {key.public}\n")
    for made in (first, second):
        verified = subprocess.run(
            ["git", "-c", f"gpg.ssh.allowedSignersFile={signers}", "verify-commit", made],
            cwd=remote,
            capture_output=True,
            text=True,
            check=False,
        )
        assert verified.returncode == 0, verified.stderr
        assert 'Good "git" signature for bot@acme.example' in verified.stderr


def test_the_commit_has_the_address_of_the_accounts_key(tmp_path: Path) -> None:
    repository = clone(bare(tmp_path / "remote.git"), tmp_path / "mirror", known())
    found = repository.commit(commit(repository))
    assert (found.author, found.email) == ("gitbot", "bot@acme.example")


def test_a_signature_changes_nothing_else(tmp_path: Path) -> None:
    key = known()
    plain = clone(bare(tmp_path / "one.git"), tmp_path / "a", None)
    signed = clone(bare(tmp_path / "two.git"), tmp_path / "b", key)
    left, right = plain.commit(commit(plain)), signed.commit(commit(signed))
    assert (left.message, left.author, left.time) == (right.message, right.author, right.time)
    assert left.id != right.id
    again = clone(bare(tmp_path / "three.git"), tmp_path / "c", key)
    assert commit(again) == right.id


def test_a_forge_that_refuses_unsigned_commits_says_what_to_set(tmp_path: Path) -> None:
    remote = bare(tmp_path / "remote.git")
    hook = remote / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(REFUSES)
    hook.chmod(0o755)
    with pytest.raises(RepositoryError) as caught:
        commit(clone(remote, tmp_path / "a", None))
    assert SIGNING_KEY_FILE in (caught.value.hint or "")
    commit(clone(remote, tmp_path / "b", known()))


def test_the_key_may_be_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text(text(KINDS["Ed25519"]()))
    found = read_signing_key({SIGNING_KEY_FILE: str(file)})
    assert found is not None
    assert found.public.startswith("ssh-ed25519 ")
    assert "PRIVATE" not in repr(found)
    assert read_signing_key({}) is None


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("ssh-ed25519 AAAA", "no private key in OpenSSH's format"),
        (text(ec.generate_private_key(ec.SECP256R1())), "neither Ed25519 nor RSA"),
    ],
)
def test_a_key_that_cannot_sign_is_refused(words: str, said: str) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        read_signing_key({SIGNING_KEY: words})
    assert words.splitlines()[0] not in str(caught.value)


@with_ssh_keygen
def test_a_key_with_a_passphrase_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "key"
    make = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "a long passphrase", "-f", str(file)]
    subprocess.run(make, check=True)
    with pytest.raises(UsageError, match="has a passphrase"):
        read_signing_key({SIGNING_KEY_FILE: str(file)})


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=SIGNING_KEY_FILE):
        read_signing_key({SIGNING_KEY_FILE: str(tmp_path / "absent")})
