"""Rooms with faces: code outside a room imports only the faces of that room.

`ROOMS` lists them beside the room's own `__init__`. A module that is not listed is private to its
room. A listed package is a room of its own, also for its neighbours in the room around it.
"""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = {
    "adapters": (
        "clock forges.forge_type forges.gitea forges.github forges.gitlab forges.local "
        "forges.local.forge git "
        "health_gates hidden_secrets kubernetes kustomize lazy_cluster load_file progress_bar "
        "prometheus sandbox.policy_runner sandbox.seccomp sandbox.worker_process signals "
        "snapshot_cluster webhooks working_tree"
    ),
    "audit": "",
    "calendar": "",
    "cli": "main",
    "constraints": (
        "audit_placement explanation failure.node_loss failure.resilience load.measures "
        "load.ranking moves.copies moves.instances moves.migration_state moves.under_way "
        "replay.replay "
        "rules.broken_terms rules.companions "
        "rules.contradiction rules.domains rules.imbalance rules.load_relief rules.placement_rule "
        "rules.rule_parts rules.unread_rule rules.vm_spec_rules rules.worsening "
        "rules.zone_anti_affinity "
        "scheduler.cluster_facts scheduler.filters.node_unschedulable scheduler.profiles "
        "scheduler.verdicts scheduler.versions scheduler.world"
    ),
    "documents": "fields formats schemas",
    "execution": (
        "admit_plans approval claims cluster_facts executor_types ledger_folds next_steps "
        "request_records terminate transitions"
    ),
    "intents": "calendar_events compile proposals",
    "kubernetes": "labels names objects phases quantities selectors",
    "kubevirt": (
        "admission attachment_pod eviction instance_defaults instance_types kubevirt_object "
        "launcher_pod limits memory_overhead migration_policy names network_devices "
        "node_selector pod_defaults preflight source_node state_storage target_pod versions "
        "workload_updates"
    ),
    "model": (
        "caches cluster.cluster cluster.columns cluster.free_memory cluster.load cluster.node "
        "cluster.opt_out cluster.pod cluster.resource_requests cluster.scheduler_profile "
        "cluster.scheduling grouping ledger.effect_id ledger.event_parts ledger.events "
        "ledger.ledger ledger.owner_approval ledger.request_id plan.constraint plan.diagnosis "
        "plan.findings plan.lead plan.plan plan.problem progress struct lazy_fields text.canonical "
        "text.decoding text.instants text.names text.wording"
    ),
    "planner": "",
    "policy": "cases evaluate_once reference_pages worker_api",
    "ports": "clock cluster forge idempotence ledger load notices repository",
    "published": "ledger_lines",
    "rendering": "",
    "reports": "escape html.page own_templates site",
    "service": "",
    "settings": "",
    "simulation": "",
    "snapshot": "",
    "wiring": "clusters demo forge_reads forges manifests plan_worker workspace",
    "workflows": (
        "apply ask audit author check comments core.base_branch core.beside core.context "
        "core.folder_reading core.judged_plan core.own_wording core.plan_verdict "
        "core.published_snapshots core.revision core.rights core.window_standing "
        "ledger.adopt ledger.anchor ledger.guarded_store ledger.request_history propose "
        "simulate watch"
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
    room = face if face in PACKAGES else ".".join(face.split(".")[:2])
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
