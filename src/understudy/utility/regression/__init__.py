"""The regressions of analysis-specific utility: design, likelihoods, fitting, comparison."""
