"""The decision: limits, graded reasons, and the verdict on a study. No plots, no HTML."""
