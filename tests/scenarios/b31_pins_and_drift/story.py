"""A pin that stands in Git as well: the pull request that removes it, and the intent for it."""

import shutil
from pathlib import Path

from tests.scenarios.test_scenarios import run
from tests.unit.action.stage import git

HERE = Path(__file__).parent
NOW = "2026-12-01T01:00:00Z"
FORGE = "  forge: {type: local, repository: ../forge.git}\n"
PIN = "      nodeSelector: {kubernetes.io/hostname: node-a}\n"


def story(folder: Path) -> str:
    """Tell the story."""
    forge, clone = folder / "forge.git", folder / "clone"
    git(folder, "init", "--bare", "--quiet", "--initial-branch=main", str(forge))
    git(folder, "clone", "--quiet", str(forge), str(clone))
    for name in ("intents", "vms"):
        shutil.copytree(HERE / name, clone / name)
    shutil.copy(HERE / "cluster.yaml", folder)
    (clone / ".gitbot.yaml").write_text((HERE / ".gitbot.yaml").read_text() + FORGE)
    shop = clone / "vms" / "shop.yaml"
    first, rest = shop.read_text().split("---\n", 1)
    shop.write_text(f"{first}{PIN}---\n{rest}")
    git(clone, "config", "user.name", "ana")
    git(clone, "config", "user.email", "ana@example.org")
    git(clone, "add", "--all")
    git(clone, "commit", "--quiet", "--message", "Pinned for the firmware of node-b")
    git(clone, "push", "--quiet", "origin", "HEAD:main")
    asked = f"audit --snapshot ../cluster.yaml --now {NOW} --rule audit/pin --propose --dry-run"
    line = f"gitbot {asked} -o wide"
    return f"$ {line}\n{run(line, clone)[0]}"
