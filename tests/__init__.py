"""Tests, laid out like the source; slow twins in naive/, bad inputs in bad_inputs/."""
