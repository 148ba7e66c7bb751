"""The regressions of analysis-specific utility: formula, design, likelihoods, fitting."""
