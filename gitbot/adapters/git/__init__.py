"""The Repository port over Git; the only place that imports git."""
