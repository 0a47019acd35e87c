"""A plan state by state through the constraints' own checks. It trusts no planner."""
