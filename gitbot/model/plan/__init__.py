"""Problem, plan, rules and findings."""
