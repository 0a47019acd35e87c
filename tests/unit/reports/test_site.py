"""The pages of the site, made from documents alone."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import jsonschema  # type: ignore[import-untyped]
import pytest

from gitbot.adapters.working_tree import ShippedTexts
from gitbot.cli.shared.schema_table import schema_of
from gitbot.published import (
    PublishedAudit,
    PublishedBoard,
    PublishedListing,
    PublishedMap,
    PublishedPlans,
    published,
)
from gitbot.reports.site import SiteDocuments, fleet_files, site_files
from gitbot.reports.site.node_pages import MOST
from tests.unit.reports.site import NOW, documents, finding, item, places, plan, pull
from tests.unit.reports.test_html import HOSTILE

TEMPLATES = ShippedTexts().templates()
LARGEST = 300_000  # bytes of a page
STOP = {"reason": "held: cable work", "by": "ana", "since": NOW, "next": "gitbot resume"}


def files(found: SiteDocuments) -> dict[str, bytes]:
    return site_files(found, templates=TEMPLATES)


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.found += [value or "" for key, value in attrs if key in ("href", "src")]


def parsed(page: bytes) -> _Links:
    links = _Links()
    links.feed(page.decode())
    return links


def test_same_documents_same_bytes() -> None:
    assert files(documents()) == files(documents())


def test_every_page_has_its_document_beside_it() -> None:
    made = files(documents())
    pages = {name.removesuffix(".html") for name in made if name.endswith(".html")}
    assert pages == {name.removesuffix(".json") for name in made if name.endswith(".json")}
    for name in pages:
        document = json.loads(made[f"{name}.json"])
        jsonschema.validate(document, schema_of(document["kind"]))


def test_every_link_leads_to_a_page_of_the_folder() -> None:
    made = files(documents())
    for name, content in made.items():
        if name.endswith(".html"):
            links = set(parsed(content).found) - {"#main", "../index.html"}
            assert links <= made.keys(), name


def test_what_needs_a_person_comes_first_with_its_command() -> None:
    page = files(documents(stop="held", stops=[STOP], pullRequests=[pull("Heal it")]))
    text = page["index.html"].decode()
    assert 'iberia: <span class="state">Nothing starts: held</span>' in text
    first = text.index("Needs a person")
    assert first < text.index("<code>gitbot resume</code>") < text.index("#7 Heal it")
    assert 'href="https://forge.example/acme/placement/pulls/7"' in text


@pytest.mark.parametrize(("then", "needs"), [("gitbot cancel x", True), ("", False)])
def test_what_waits_by_itself_needs_nobody(then: str, *, needs: bool) -> None:
    move = {"id": 1, "vm": "a/b", "from": "n1", "to": "n2", "state": "held", "landed": ""}
    held = {**move, "reason": "", "waits": "frozen by quarter-close", "until": ""}
    request = {"id": "request/a/b", "state": "held", "section": "held", "moves": [held]}
    text = files(documents(requests=[{**request, "next": then}]))["index.html"].decode()
    first, _, rest = text.partition("<h2>Waiting</h2>")
    assert ("frozen by quarter-close" in first) is needs
    assert "frozen by quarter-close" in rest


def test_a_window_at_risk_needs_a_person() -> None:
    line = {"request": "drain/racks/a", "reason": "no plan is merged", "next": "gitbot merge 4"}
    text = files(documents(atRisk=[line]))["index.html"].decode()
    first = text.partition("<h2>Rules</h2>")[0]
    assert first.index("no plan is merged") < first.index("<code>gitbot merge 4</code>")


def test_what_passes_a_policy_is_shown() -> None:
    spared = {"policy": "zones", "name": "lab", "by": "ana", "reason": "old rack", "subjects": []}
    line = {**spared, "until": "", "expired": False, "pullRequest": 3, "digest": ""}
    text = files(documents(policyExceptions=[line]))["index.html"].decode()
    assert "old rack" in text


def test_a_quiet_cluster_says_so() -> None:
    text = files(documents())["index.html"].decode()
    assert "Nothing is running, and nothing waits" in text
    assert "Nothing: gitbot goes on by itself." in text
    assert "6 nodes with 12 VMs; 1 of 2 rules broken; 1 move in 30 days." in text


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ("ready", "Nothing moves; 1 node in maintenance"),
        ("returned", "Nothing moves; 1 thing needs a person"),
    ],
)
def test_a_cluster_with_nodes_or_people_away_is_not_quiet(state: str, words: str) -> None:
    node = {"node": "n1", "state": state, "since": NOW, "cordon": "", "unplanned": [], "next": ""}
    ids = {"request": "drain/rack/o1", "window": "rack", "occurrence": "o1"}
    found = documents(maintenance=[{**ids, "nodes": [node]}], pullRequests=[pull("Heal it")])
    text = files(found)["index.html"].decode()
    assert f'<span class="state">{words}</span>' in text


def test_the_board_says_what_stays_behind_and_what_to_type() -> None:
    text = files(documents())["maintenance.html"].decode()
    assert "1 node in maintenance, 1 node with VMs that stay" in text
    assert "<h2>node: from 22:00 until 02:00</h2>" in text
    assert ">1 of 3<" in text
    assert ">team/node: node has no room<" in text
    assert "<code>gitbot plan</code>" in text
    empty = PublishedBoard(cluster="iberia", now=NOW, not_read="", windows=[])  # type: ignore[arg-type]
    text = files(replace(documents(), board=empty))["maintenance.html"].decode()
    assert "No maintenance is planned" in text


def test_faults_are_grouped_by_reason_with_their_age() -> None:
    text = files(documents())["faults.html"].decode()
    assert "1 error, 2 warnings" in text
    assert text.index("What cannot move, and why") < text.index("Broken rules and wishes")
    assert ">2: VM team/node, VM team/node2<" in text
    assert ">at most 1 min<" in text
    assert ">at least 1 h<" in text
    assert "Not looked at: manifests in Git." in text
    assert "Single points" not in text


def test_a_finding_links_its_line_on_the_forge() -> None:
    commit = "https://forge.example/acme/placement/blob/0123"
    broken = {**item("PlacementRule", "a b", state="broken"), "file": "intents/p/a b#<c>.yaml:7"}
    listed = {"cluster": "iberia", "time": NOW, "of": "rules", "notRead": "", "broken": []}
    rules = published({**listed, "items": [broken]}, PublishedListing)
    file = {"file": "intents/p/x.yaml", "line": 3, "message": "found nothing", "effect": "",
            "holds": "", "author": "ann", "commit": "0" * 40}  # fmt: skip
    made = files(replace(documents(brokenFiles=[file]), source=commit, rules=rules))
    assert f"{commit}/rack.yaml#L1" in parsed(made["faults.html"]).found
    assert f"{commit}/intents/p/a%20b%23%3Cc%3E.yaml#L7" in parsed(made["rules.html"]).found
    assert f"{commit}/intents/p/x.yaml#L3" in parsed(made["index.html"]).found
    without = files(documents(brokenFiles=[file]))
    assert not any("rack.yaml" in link for link in parsed(without["faults.html"]).found)
    hostile = files(replace(documents(), source="javascript:alert(1)//"))
    assert not any(link.startswith("java") for link in parsed(hostile["faults.html"]).found)


def plans(*found: dict[str, object]) -> str:
    fields = {"cluster": "iberia", "time": NOW, "notRead": "", "plans": list(found)}
    made = files(replace(documents(), plans=published(fields, PublishedPlans)))
    assert len(made["plans.html"]) <= LARGEST
    return made["plans.html"].decode()


def test_a_plan_is_shown_before_after_and_after_each_wave() -> None:
    text = plans(plan("n"))
    assert "<h2>#7 Empty a rack: waits for a merge</h2>" in text
    assert [text.count(f'class="s{step}" name="plan1"') for step in range(5)] == [1, 1, 1, 1, 0]
    assert "After wave 2: 2 of 3 VMs moved" in text
    assert '<li class="leaving t1">team/n-1</li>' in text
    assert '<li class="arriving f1">team/n-1</li>' in text
    assert ".plan:has(.s1:checked) .t0{display:none}" in text
    assert ".plan:has(.s1:checked) .f0{" not in text


def test_many_waves_are_fewer_steps() -> None:
    text = plans(plan("n", moves=30))
    assert 'class="s12"' in text
    assert 'class="s13"' not in text
    assert "After waves 29 to 30: 30 of 30 VMs moved" in text


def test_plans_too_large_for_a_picture_are_tables() -> None:
    text = plans(*(plan("n", moves=100) for _ in range(8)), plan("n", moves=4_000))
    assert text.count('class="plan"') == 6
    assert "3 plans too large to draw: see the tables." in text
    assert "No plan waits" in plans()


@pytest.mark.parametrize("url", ["https://forge.example/7", "javascript:alert(1)"])
def test_only_addresses_of_the_web_are_links(url: str) -> None:
    assert (f'href="{url}"' in plans({**plan("n"), "url": url})) is url.startswith("https")


def test_a_node_has_a_page_with_what_happens_to_its_vms() -> None:
    vm = "team-0/node-0000-1"
    move = {
        "id": 1,
        "vm": vm,
        "from": "node-0000",
        "to": "node-0003",
        "state": "held",
        "landed": "",
    }
    held = {**move, "reason": "", "waits": "no room", "until": ""}
    request = {"id": "request/a/b", "state": "held", "section": "held", "next": "", "moves": [held]}
    made = files(documents(requests=[request]))
    text = made["node-node-0000.html"].decode()
    assert f">{vm}<" in text
    assert "held to node-0003 by request/a/b: no room" in text
    assert "<code>gitbot explain vm/node-0000-1 -n team-0</code>" in text
    assert "held by request/a/b" in made["node-node-0003.html"].decode()
    assert 'href="node-node-0000.html"' in made["zone-zone-0.html"].decode()


def test_moves_that_wait_are_grouped_by_reason() -> None:
    move = {"id": 1, "from": "n1", "to": "n2", "landed": "", "reason": "", "waits": "no room"}
    held = {**move, "state": "held", "until": ""}
    moves = [{**held, "vm": "a/b"}, {**held, "vm": "a/c"}, {**held, "vm": "a/d", "until": NOW + 9}]
    request = {"id": "request/a/b", "state": "held", "section": "held", "next": "gitbot plan"}
    text = files(documents(requests=[{**request, "moves": moves}]))["faults.html"].decode()
    assert ">2: a/b, a/c</td>" in text
    assert text.index("no room") < text.index("<code>gitbot plan</code>")
    assert "a/d" not in text


def test_a_fault_of_each_of_many_vms_is_one_row() -> None:
    lines = [finding("audit/not-migratable", f"vm-{n}", "warning") for n in range(6_000)]
    fields = {**json.loads(files(documents())["faults.json"]), "items": lines}
    audit = published({**fields, "time": NOW, "takenAt": NOW}, PublishedAudit)
    page = files(replace(documents(), audit=audit))["faults.html"]
    assert b">6000: VM team/vm-0, " in page
    assert len(page) < 20_000


@pytest.mark.parametrize(("healthy", "tone"), [(True, "careful"), (False, "bad")])
def test_a_stop_that_no_person_chose_is_louder(tone: str, *, healthy: bool) -> None:
    text = files(documents(healthy=healthy, stop="circuit breaker"))["index.html"].decode()
    assert f'<header class="{tone}">' in text


def test_a_cluster_that_was_not_read_is_never_quiet() -> None:
    text = files(documents(notRead="it does not answer"))["index.html"].decode()
    assert '<header class="bad">' in text
    assert "The cluster could not be read: it does not answer" in text
    assert "nothing waits" not in text


@pytest.mark.parametrize("name", [HOSTILE, "<script>alert(1)</script>", "\x1b[2J", "../../x"])
def test_hostile_names_are_harmless(name: str) -> None:
    found = documents(name=name, pullRequests=[pull(name, url="javascript:alert(1)")])
    for path, content in files(found).items():
        assert re.fullmatch(r"[0-9A-Za-z._-]+", path)
        if path.endswith(".html"):
            links = parsed(content)
            assert "script" not in links.tags
            assert not any(link.startswith("javascript") for link in links.found)
            assert not re.search("[\x00-\x08\x0b-\x1f\u202a-\u202e\u2066-\u2069]", content.decode())


def test_a_zone_is_no_path() -> None:
    nodes = [{**place, "zone": "../../etc"} for place in places(2, 1, "n")]
    fields = {"cluster": "iberia", "time": NOW, "notRead": "", "nodes": nodes}
    made = files(replace(documents(), places=published(fields, PublishedMap)))
    assert "zone-..-..-etc.html" in made


@pytest.mark.parametrize("nodes", [1_000, 5_000])
def test_pages_of_a_large_cluster_stay_small(nodes: int) -> None:
    made = files(documents(nodes=nodes, vms=6))
    sizes = {name: len(page) for name, page in made.items() if name.endswith(".html")}
    zones = [size for name, size in sizes.items() if name.startswith("zone-")]
    assert len(zones) == 3
    assert any(name.startswith("node-") for name in sizes) is (nodes <= MOST)
    assert sum(map(len, made.values())) <= 60_000_000
    assert max(size for name, size in sizes.items() if not name.startswith("zone-")) <= LARGEST
    assert max(zones) <= LARGEST * max(1, nodes // 2_000)


def test_the_page_of_all_clusters_links_what_was_written() -> None:
    clusters = documents().clusters
    text = fleet_files(clusters, ["iberia"], templates=TEMPLATES)["index.html"]
    assert "iberia/index.html" in parsed(text).found
    assert (
        "iberia/index.html"
        not in parsed(fleet_files(clusters, [], templates=TEMPLATES)["index.html"]).found
    )
