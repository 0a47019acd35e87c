"""BalanceRule, a kind of intent."""
