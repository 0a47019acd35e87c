"""Which plans are approved, by whom, and whether their approval still counts."""
