"""Tests of what people throw at the program, row by row."""
