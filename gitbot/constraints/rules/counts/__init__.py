"""Rules as counts by domain: the fast form that the planner asks."""
