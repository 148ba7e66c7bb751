"""Dials against risk and utility: which points there are, what each costs, which to take.

Not named like the function `understudy.frontier`, which the module would hide.
"""
