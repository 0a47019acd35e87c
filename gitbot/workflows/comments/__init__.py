"""Commands in comments: a closed grammar, a check who may use it, one answer to each.

The text of a comment is data: it picks a verb and a name, and reaches nothing else.
"""

from __future__ import annotations

from gitbot.workflows.comments.answer import CommentResult, Texts, answer

__all__ = ["CommentResult", "Texts", "answer"]
