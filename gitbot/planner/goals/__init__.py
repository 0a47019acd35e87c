"""One file for each kind of goal: it drafts the moves that reach the goal."""
