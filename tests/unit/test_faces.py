"""Rooms with faces: code outside a room imports only the faces of that room.

`ROOMS` lists them beside the room's own `__init__`. A module that is not listed is private to its
room. A listed package is a room of its own, also for its neighbours in the room around it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = {
    "adapters": (
        "clock files forges.github forges.local git kubernetes kustomize late limited_process "
        "limits load_file policy_runner progress prometheus published signals"
    ),
    "audit": "",
    "calendar": "",
    "cli": "main",
    "constraints": (
        "contradiction domains explanation facts immovable instances load load_relief losses made "
        "node_unschedulable own_terms placed placement_rule ranking replay resilience rule_check "
        "rule_parts transit verdicts world zone_anti_affinity"
    ),
    "documents": "fields formats schemas",
    "execution": (
        "accept approval consent facts fence mark next_steps requests sending state transitions "
        "values"
    ),
    "intents": "agenda compile proposals",
    "kubernetes": "labels names objects phases quantities selectors",
    "kubevirt": (
        "admission configuration containers eviction launcher_pod limits memory_overhead "
        "migration_policy movers names node_selector owners pod_defaults pods preflight "
        "source_node target_pod target_refusals webhook_answers"
    ),
    "model": (
        "canonical cluster columns consent constraint decoding diagnosis effect event_data events "
        "findings grouping instants later ledger load names node opt_out plan pod problem "
        "request_id requests scheduling value watch words"
    ),
    "planner": "",
    "policy": "cases pages running trying",
    "ports": "already clock cluster forge ledger load repository",
    "published": "ledger_lines",
    "rendering": "",
    "reports": "html inert",
    "settings": "",
    "simulation": "",
    "snapshot": "",
    "wiring": "clusters demo manifests planning tips workspace",
    "workflows": (
        "apply ask audit author base_branch check comments judged_plan past plan_verdict propose "
        "revision shell simulate snapshots watch"
    ),
}
FACES = frozenset(
    f"gitbot.{room}.{module}" for room, modules in ROOMS.items() for module in modules.split()
)


def _module(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def _listed(tree: ast.Module) -> frozenset[str]:
    """The names in `__all__`."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return frozenset(ast.literal_eval(node.value))
    return frozenset()


PATHS = {_module(path): path for path in sorted((ROOT / "gitbot").rglob("*.py"))}
PACKAGES = frozenset(module for module, path in PATHS.items() if path.name == "__init__.py")
TOP = frozenset(package for package in PACKAGES if package.count(".") == 1)
OPEN = TOP | FACES
ALL_ROOMS = sorted(TOP | FACES & PACKAGES)


pytestmark = pytest.mark.xdist_group("faces")  # one process reads the imports, not each


@cache
def _trees() -> Mapping[str, ast.Module]:
    return {module: ast.parse(path.read_text(encoding="utf-8")) for module, path in PATHS.items()}


def _from(package: str, name: str) -> str:
    """What `from package import name` reads: a name in `__all__` is the package's own."""
    inner = f"{package}.{name}"
    return inner if inner in PATHS and name not in _names(package) else package


@cache
def _names(package: str) -> frozenset[str]:
    return _listed(_trees()[package])


@cache
def _imports() -> Sequence[tuple[str, str]]:
    return sorted(set(_read_imports()))


def _read_imports() -> Iterator[tuple[str, str]]:
    for module, tree in _trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                yield from ((module, name.name) for name in node.names if name.name in PATHS)
            elif isinstance(node, ast.ImportFrom) and node.module in PATHS:
                yield from ((module, _from(node.module, name.name)) for name in node.names)


def _is_inside(module: str, room: str) -> bool:
    return f"{module}.".startswith(f"{room}.")


def test_the_list_names_every_room() -> None:
    assert {f"gitbot.{room}" for room in ROOMS} == TOP
    assert set(PATHS) >= FACES


@pytest.mark.parametrize("room", ALL_ROOMS)
def test_only_the_faces_of_a_room_are_imported_from_outside(room: str) -> None:
    assert not [
        f"{module} imports {imported}"
        for module, imported in _imports()
        if _is_inside(imported, room) and not _is_inside(module, room) and imported not in OPEN
    ]


@pytest.mark.parametrize("face", sorted(FACES))
def test_a_face_is_imported_from_outside(face: str) -> None:
    room = face if face in PACKAGES else face.rpartition(".")[0]
    assert [
        module
        for module, imported in _imports()
        if imported == face and not _is_inside(module, room)
    ]


@pytest.mark.parametrize("face", sorted(FACES & PACKAGES))
def test_a_package_that_is_a_face_lists_its_names(face: str) -> None:
    assert ast.get_docstring(_trees()[face])
    assert _names(face)


@pytest.mark.parametrize(
    "face",
    sorted(face for face in FACES if face.startswith("gitbot.workflows.") and face in PACKAGES),
)
def test_a_room_of_workflows_tells_the_way_through(face: str) -> None:
    assert len((ast.get_docstring(_trees()[face]) or "").splitlines()) > 1


@cache
def _asked(face: str) -> frozenset[str]:
    """The words of all files outside a room that import from its face."""
    room, _, last = face.rpartition(".")
    asks = re.compile(
        rf"^\s*from ({re.escape(face)} import|{re.escape(room)} import .*\b{last}\b)", re.MULTILINE
    )
    found: set[str] = set()
    for path in _sources():
        if not _is_inside(_module(path), face) and asks.search(text := _text(path)):
            found |= set(re.findall(r"\w+", text))
    return frozenset(found)


@cache
def _sources() -> Sequence[Path]:
    return sorted(path for part in ("gitbot", "tests") for path in (ROOT / part).rglob("*.py"))


@cache
def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@pytest.mark.parametrize("face", sorted(TOP - {"gitbot.simulation"} | FACES & PACKAGES))
def test_a_face_offers_only_what_is_asked_for(face: str) -> None:
    assert _names(face) - _asked(face) == set()
