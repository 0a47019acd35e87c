"""Pull requests, reviews, comments, labels and merges of the GitHub double."""

from __future__ import annotations

import pytest

from tests.unit.doubles.github.scene import REPOSITORY, Scene


def test_a_pull_request_is_opened_once(scene: Scene) -> None:
    pull = scene.pull()
    assert (pull["number"], pull["mergeable"], pull["mergeable_state"]) == (1, True, "clean")
    assert (pull["commits"], pull["changed_files"], pull["additions"]) == (1, 1, 1)
    body = {"head": "work", "base": "main", "title": "Again"}
    code, answer = scene.answer("alice", "POST", "~/pulls", body)
    assert code == 422
    assert answer["errors"][0]["message"] == "A pull request already exists for acme:work."


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ({"head": "nowhere"}, {"resource": "PullRequest", "field": "head", "code": "invalid"}),
        ({"base": "nowhere"}, {"resource": "PullRequest", "field": "base", "code": "invalid"}),
        (
            {"head": "main"},
            {
                "resource": "PullRequest",
                "code": "custom",
                "message": "No commits between acme:main and acme:main",
            },
        ),
    ],
)
def test_what_cannot_be_opened(scene: Scene, body: dict[str, str], found: dict[str, str]) -> None:
    scene.commit("work", {"a": "1"})
    asked = {"head": "work", "base": "main", "title": "t", **body}
    code, answer = scene.answer("alice", "POST", "~/pulls", asked)
    assert (code, answer["errors"]) == (422, [found])


def test_the_head_follows_a_push(scene: Scene) -> None:
    scene.pull()
    newer = scene.commit("work", {"more": "1"})
    assert scene.ask("alice", "GET", "~/pulls/1")["head"]["sha"] == newer
    assert [(e.name, e.action) for e in scene.github.events][-1] == ("pull_request", "synchronize")


def test_pull_requests_are_listed_by_state_and_head(scene: Scene) -> None:
    scene.pull("one")
    scene.pull("two")
    scene.ask("alice", "PATCH", "~/pulls/1", {"state": "closed"})
    listed = {
        state: [pull["number"] for pull in scene.ask("bob", "GET", "~/pulls", state=state)]
        for state in ("open", "closed", "all")
    }
    assert listed == {"open": [2], "closed": [1], "all": [2, 1]}
    assert scene.ask("bob", "GET", "~/pulls", head="acme:two")[0]["number"] == 2
    assert scene.ask("bob", "GET", "~/pulls", head="other:two") == []


def test_pages_are_linked(scene: Scene) -> None:
    for number in range(5):
        scene.pull(f"b{number}")
    answer = scene.github.ask(
        scene.tokens["bob"], "GET", f"/repos/{REPOSITORY}/pulls", per_page="2", page="2"
    )
    assert [pull["number"] for pull in answer.body] == [3, 2]
    assert 'page=3>; rel="next"' in answer.headers["Link"]
    assert 'page=1>; rel="first"' in answer.headers["Link"]


@pytest.mark.parametrize(("method", "parents"), [("merge", 2), ("squash", 1), ("rebase", 1)])
def test_merging(scene: Scene, method: str, parents: int) -> None:
    pull = scene.pull()
    scene.commit("main", {"other": "1"})
    body = {"merge_method": method, "sha": pull["head"]["sha"]}
    merged = scene.ask("bob", "PUT", "~/pulls/1/merge", body)
    git = scene.github.repository(REPOSITORY).git
    assert git.resolve("main") == merged["sha"]
    assert len(git.commit(merged["sha"]).parents) == parents
    after = scene.ask("bob", "GET", "~/pulls/1")
    assert (after["state"], after["merged"], after["merged_by"]["login"]) == ("closed", True, "bob")
    assert after["merge_commit_sha"] == merged["sha"]
    assert scene.answer("bob", "GET", "~/pulls/1/merge")[0] == 204


def test_merges_that_are_refused(scene: Scene) -> None:
    scene.pull()
    assert scene.answer("rita", "PUT", "~/pulls/1/merge")[0] == 403
    moved = scene.answer("bob", "PUT", "~/pulls/1/merge", {"sha": "0" * 40})
    assert (moved[0], moved[1]["message"]) == (
        409,
        "Head branch was modified. Review and try the merge again.",
    )
    scene.commit("main", {"work.txt": "another\n"})
    assert scene.answer("bob", "PUT", "~/pulls/1/merge")[0] == 405
    shown = scene.ask("bob", "GET", "~/pulls/1")
    assert (shown["mergeable"], shown["mergeable_state"]) == (False, "dirty")


def test_nobody_approves_their_own(scene: Scene) -> None:
    scene.pull()
    code, answer = scene.answer("alice", "POST", "~/pulls/1/reviews", {"event": "APPROVE"})
    assert (code, answer["errors"]) == (422, ["Can not approve your own pull request"])
    scene.ask("bob", "POST", "~/pulls/1/reviews", {"event": "APPROVE"})
    reviews = scene.ask("alice", "GET", "~/pulls/1/reviews")
    assert [(r["user"]["login"], r["state"]) for r in reviews] == [("bob", "APPROVED")]


def test_comments_are_edited_in_place(scene: Scene) -> None:
    scene.pull()
    made = scene.ask("bob", "POST", "~/issues/1/comments", {"body": "one"})
    scene.clock.sleep(60)
    where = f"~/issues/comments/{made['id']}"
    scene.ask("bob", "PATCH", where, {"body": "two"})
    listed = scene.ask("alice", "GET", "~/issues/1/comments")
    assert [(c["id"], c["body"], c["created_at"] != c["updated_at"]) for c in listed] == [
        (made["id"], "two", True)
    ]
    assert scene.answer("rita", "PATCH", where, {"body": "three"})[0] == 403
    long = {"body": "x" * 65_537}
    code, answer = scene.answer("bob", "POST", "~/issues/1/comments", long)
    assert code == 422
    assert answer["errors"][0]["message"] == "body is too long (maximum is 65536 characters)"


def test_labels_are_made_as_they_are_used(scene: Scene) -> None:
    scene.pull()
    scene.ask("bob", "PUT", "~/issues/1/labels", {"labels": ["b", "a"]})
    scene.ask("bob", "POST", "~/issues/1/labels", {"labels": ["c", "a"]})
    scene.ask("bob", "DELETE", "~/issues/1/labels/b")
    assert [label["name"] for label in scene.ask("bob", "GET", "~/issues/1/labels")] == ["a", "c"]
    assert [label["name"] for label in scene.ask("bob", "GET", "~/labels")] == ["a", "b", "c"]
    (pull,) = scene.ask("bob", "GET", "~/pulls")
    assert [label["name"] for label in pull["labels"]] == ["a", "c"]


def test_statuses_have_a_length_and_a_number(scene: Scene) -> None:
    sha = scene.pull()["head"]["sha"]
    status = {"state": "pending", "context": "gitbot/plan", "description": "x" * 141}
    assert scene.answer("bob", "POST", f"~/statuses/{sha}", status)[0] == 422
    scene.ask("bob", "POST", f"~/statuses/{sha}", {**status, "description": "d"})
    scene.github.repository(REPOSITORY).statuses *= 1000
    code, answer = scene.answer("bob", "POST", f"~/statuses/{sha}", {**status, "description": ""})
    assert code == 422
    assert "maximum number of statuses" in answer["errors"][0]["message"]
    combined = scene.ask("bob", "GET", f"~/commits/{sha}/status")
    assert (combined["state"], combined["total_count"]) == ("pending", 1)


def test_what_is_not_there_is_loud(scene: Scene) -> None:
    assert scene.answer("bob", "GET", "~/pulls/7")[0] == 404
    code, answer = scene.answer("bob", "GET", "~/nothing/of/the/kind")
    assert (code, answer["message"]) == (
        501,
        f"the GitHub double knows no such operation: GET /repos/{REPOSITORY}/nothing/of/the/kind",
    )
    assert scene.answer("nobody knows", "GET", "~")[0] == 401
