"""Synthesizers: models of the labels, fitted by chains, and the four baselines."""
