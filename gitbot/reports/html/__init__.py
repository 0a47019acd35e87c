"""The HTML page of a plan and its pictures."""
