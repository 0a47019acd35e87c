"""LoadRule, a kind of intent."""
