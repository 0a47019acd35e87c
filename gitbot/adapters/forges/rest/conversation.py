"""gitbot's comments and its dashboard: one text for each marker, edited in place."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from gitbot.adapters.forges.rest.answers import comment_of, issue_of, reads_answers
from gitbot.adapters.forges.rest.api import PAGE, RestApi
from gitbot.adapters.forges.rest.budget import BudgetSpent, Priority
from gitbot.adapters.forges.rest.refusals import RestRefusal
from gitbot.ports.forge import Comment, Issue, is_marked, marked
from gitbot.ports.idempotence import is_up_to_date
from gitbot.reports import cut_markdown

MAX_BODY = 65_536  # characters, the limit of GitHub; Gitea has none
_CUT = "\n\n_Cut here: the command line has all._\n"
DASHBOARD = "gitbot/dashboard"  # this label finds the issue among many


@reads_answers
@dataclass(slots=True, kw_only=True)
class Conversation:
    """Comments and issues of one repository. `account` is gitbot's account.

    `labelled`: issues are found by a label, which a new one names. Otherwise the forge lists those
    of one account (Gitea, whose issues name labels by their numbers).
    """

    api: RestApi
    root: str
    account: Callable[[], str]
    labelled: bool = True
    _known: dict[tuple[int, str], int] = field(default_factory=dict)
    _issues: dict[str, int] = field(default_factory=dict)

    # What a forge names otherwise

    _edits: ClassVar[str] = "PATCH"
    _text: ClassVar[str] = "body"  # the field of an issue's text

    def _comments(self, number: int) -> str:
        return f"{self.root}/issues/{number}/comments"

    def _comment(self, _number: int, comment: int) -> str:
        return f"{self.root}/issues/comments/{comment}"

    def _read_comments(self, values: Iterable[Any]) -> Iterable[Comment]:
        return map(comment_of, values)

    def _read_issue(self, value: Any) -> Issue:
        return issue_of(value)

    def _own(self) -> dict[str, str]:
        """The parameters that list gitbot's issues, if no label finds them."""
        return {"created_by": self.account(), "type": "issues", "state": "all"}

    def _fitting(self, text: str) -> str:
        """Cut to the limit at the end. The digest is in the first part."""
        return cut_markdown(text, MAX_BODY, _CUT)

    # Comments

    def list_comments(self, number: int) -> tuple[Comment, ...]:
        values = self.api.pages(f"read the comments on {number}", self._comments(number))
        return tuple(sorted(self._read_comments(values), key=lambda item: item.id))

    def get_comment(self, number: int, comment: int) -> Comment:
        path = self._comment(number, comment)
        (found,) = self._read_comments([self.api.get(f"read comment {comment}", path).body])
        return found

    def upsert_comment(self, number: int, *, marker: str, body: str) -> Comment:
        """Write our one comment with the marker, in place. Several are merged into the oldest."""
        text = self._fitting(marked(body, marker))
        present = self._find(number, marker)
        if present is None:
            return self._create(number, marker, text)
        if is_up_to_date(present.body, text):
            return present
        return self._edit(number, present, text)

    def _create(self, number: int, marker: str, text: str) -> Comment:
        def found() -> Comment | None:
            return self._find(number, marker)

        value = self.api.write(
            f"comment on {number}",
            "POST",
            self._comments(number),
            {"body": text},
            resolve=found,
        )
        comment = self._one(value)
        self._known[number, marker] = comment.id
        return comment

    def _one(self, value: Any) -> Comment:
        """A comment that was found, or the answer to a write."""
        if isinstance(value, Comment):
            return value
        (comment,) = self._read_comments([value])
        return comment

    def _edit(self, number: int, present: Comment, text: str) -> Comment:
        def found() -> Comment | None:
            comment = self.get_comment(number, present.id)
            return comment if is_up_to_date(comment.body, text) else None

        value = self.api.write(
            f"edit comment {present.id}",
            self._edits,
            self._comment(number, present.id),
            {"body": text},
            resolve=found,
        )
        return self._one(value)

    def _find(self, number: int, marker: str) -> Comment | None:
        """Our comment with a marker. A new one is remembered before any list shows it."""
        own = self.account()
        mine = [
            item
            for item in self.list_comments(number)
            if is_marked(item.body, marker) and item.author == own
        ]
        if mine:
            self._known[number, marker] = mine[0].id
            for doubled in mine[1:]:  # two processes wrote it at the same moment
                self._delete(number, doubled.id)
            return mine[0]
        known = self._known.get((number, marker))
        if known is None:
            return None
        try:
            return self.get_comment(number, known)
        except RestRefusal as error:
            if not error.absent:
                raise
            del self._known[number, marker]  # a person deleted it
            return None

    def _delete(self, number: int, comment: int) -> None:
        path = self._comment(number, comment)

        def gone() -> bool | None:
            try:
                self.api.get(f"read comment {comment}", path)
            except RestRefusal as error:
                return True if error.absent else None
            return None

        try:
            self.api.write(
                f"delete comment {comment}",
                "DELETE",
                path,
                None,
                resolve=gone,
                priority=Priority.COSMETIC,
            )
        except BudgetSpent:
            return
        except RestRefusal as error:
            if not error.absent:
                raise

    def upsert_issue(self, *, marker: str, title: str, body: str) -> Issue:
        text = self._fitting(marked(body, marker))
        present = self._find_issue(marker)
        if present is not None and is_up_to_date(present, replace(present, title=title, body=text)):
            return present
        path, verb = f"{self.root}/issues", "POST"
        wanted: dict[str, object] = {"title": title, self._text: text}
        if present is None and self.labelled:
            wanted["labels"] = [DASHBOARD]
        if present is not None:
            path, verb = f"{path}/{present.number}", self._edits

        def found() -> Issue | None:
            issue = self._find_issue(marker)
            return issue if issue is not None and issue.body == text else None

        value = self.api.write(
            "write the dashboard issue",
            verb,
            path,
            wanted,
            resolve=found,
            priority=Priority.COSMETIC,
        )
        issue = value if isinstance(value, Issue) else self._read_issue(value)
        self._issues[marker] = issue.number
        return issue

    def _find_issue(self, marker: str) -> Issue | None:
        path, what = f"{self.root}/issues", "read the dashboard issue"
        wanted = {"labels": DASHBOARD, "state": "all"}
        if not self.labelled:
            wanted = self._own()
        candidates = self.api.pages(what, path, parameters=wanted, priority=Priority.COSMETIC)
        mine = self._own_issues(candidates, marker)
        if (
            not mine and self.labelled
        ):  # a person may have removed the label: search the last changed issues
            recent = {"state": "all", "sort": "updated", "direction": "desc", "per_page": PAGE}
            answer = self.api.get(what, path, parameters=recent, priority=Priority.COSMETIC)
            mine = self._own_issues(answer.body, marker)
        if mine:
            return min(mine, key=lambda issue: issue.number)
        known = self._issues.get(marker)
        if known is None:
            return None
        return self._read_issue(self.api.get("read an issue", f"{self.root}/issues/{known}").body)

    def _own_issues(self, values: Iterable[Any], marker: str) -> list[Issue]:
        own = self.account()
        found = [self._read_issue(value) for value in values if not value.get("pull_request")]
        return [issue for issue in found if issue.author == own and is_marked(issue.body, marker)]
