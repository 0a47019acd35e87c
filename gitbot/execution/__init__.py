"""The executor's brain: which steps come next, what outcomes mean. Performs none of them."""
