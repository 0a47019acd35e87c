"""Commands in comments: a closed grammar, a check of the author's rights, one answer to each.

The text of a comment is data: it selects a verb and a name, and has no other effect.
"""

from __future__ import annotations

from gitbot.workflows.comments.answer import CommentResult, Texts, answer

__all__ = ["CommentResult", "Texts", "answer"]
