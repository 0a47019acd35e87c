"""A real Gitea that takes only verified commits on gitbot's branches."""

import os
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from gitbot.adapters.forges.gitea.forge import GiteaForge
from gitbot.adapters.forges.rest.git_access import token_access
from gitbot.adapters.git.repository import GitRepository
from gitbot.adapters.git.signing import SIGNING_KEY, SIGNING_KEY_FILE, read_signing_key
from gitbot.errors import RepositoryError
from gitbot.model.plan.diagnosis import Check, Outcome
from tests.contracts.forges import stage
from tests.forge.gitea.server import OWNER, OwnGitea

pytestmark = [pytest.mark.forge, pytest.mark.xdist_group("gitea")]


def ledger(repository: GitRepository) -> str:
    return repository.write_commit(
        branch="gitbot/ledger", expected=None, files={"a": b"0\n"}, message="line", time=1
    )


def test_only_a_trusted_signature_is_taken(
    own_gitea: OwnGitea, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with stage("gitea", tmp_path / "stage", own_gitea) as scene:
        forge = scene.forge
        assert isinstance(forge, GiteaForge)
        rule = {"rule_name": "gitbot/**", "enable_push": True, "require_signed_commits": True}
        own_gitea.do(OWNER, "POST", f"/repos/{forge.repository}/branch_protections", rule)
        remote = f"{own_gitea.web}/{forge.repository}.git"
        access = token_access(own_gitea.web, own_gitea.token("alice"))

        def signing(text: str) -> GitRepository:
            key = read_signing_key({SIGNING_KEY: text}) if text else None
            folder = tmp_path / f"mirror-{len(list(tmp_path.iterdir()))}"
            return GitRepository.clone(remote, folder, access=lambda: access, key=key)

        def said() -> Check | None:
            return {check.name: check for check in forge.diagnose()}.get("forge/signatures")

        assert said() is None
        stranger = Ed25519PrivateKey.generate().private_bytes(
            Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()
        )
        for text in ("", stranger.decode()):
            with pytest.raises(RepositoryError) as caught:
                ledger(signing(text))
            assert SIGNING_KEY_FILE in (caught.value.hint or "")
        monkeypatch.setitem(os.environ, SIGNING_KEY, own_gitea.signing_key)
        found = said()
        assert found is not None
        assert (found.outcome, "none yet" in found.message) == (Outcome.PASS, True)
        ledger(signing(own_gitea.signing_key))
        found = said()
        assert found is not None
        assert (found.outcome, "verifies" in found.message) == (Outcome.PASS, True)
