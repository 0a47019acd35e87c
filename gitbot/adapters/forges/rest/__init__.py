"""What forges with a REST API in GitHub's manner share: requests, comments, statuses.

Requests follow gitbot's own rules for any forge: reads are repeated within a budget, and a write is
sent once. This room knows no server; a forge gives it a way to send, its name and its words.
"""
