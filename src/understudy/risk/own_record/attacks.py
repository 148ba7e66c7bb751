"""The attacks by name.

To add an attack: its name below, and in `WITHOUT_ROWS` if the order of the rows does not matter;
its chances, under a `Key` with that name, in `from_draws`, `from_table` and `from_files`, with
their error if they are simulated; in `totals` if totals alone allow it; in `risk.attribute` or
`risk.identification` and in `risk.baselines`, for the value of the files themselves; the case in
``tests/risk/own_record/test_effect.py`` where all files are enumerated. Verdict and pages then have
it.

Attacks on the label, each counted as the expected number of records whose label is guessed right:

============  ======================================================================
row           believe the label of the person's row in one file
vote          the label most frequent over the person's rows in all files
modal         the label most frequent in the person's pattern, in one file
pooled_modal  the same over all files together
model         believe a model trained on all files: a label drawn with its probabilities
============  ======================================================================

Attacks on identity, counted as the expected number of records found:

===============  ===================================================================
match_one_file   pick one of the rows that equal the person, in one file
match_all_files  match probabilities averaged over all files, then the best row
match_best       whichever of the two finds more: an intruder may throw files away
===============  ===================================================================

Each in two settings. *Worst case*: rows are aligned, row i stands in for record i. *As released*:
every file has an order of its own, so a person's row is any of the rows of people alike in the kept
variables, and rows of different files cannot be put together: there is no vote and no match over
all files. Guesses of the modal label and a trained model need no rows: they are the same in both.
"""

from __future__ import annotations

__all__ = ["ATTACKS", "LEAST", "WITHOUT_ROWS"]

ATTACKS = {
    "row": "believe the row",
    "vote": "vote over the rows of all files",
    "modal": "most frequent label of the pattern, one file",
    "pooled_modal": "most frequent label of the pattern, all files",
    "model": "believe a model trained on all files",
    "match_one_file": "match one file",
    "match_all_files": "match all files",
    "match_best": "match one file or all, whichever finds more",
}
# The same whatever the order of the rows; "guess" is that of fully synthetic files.
WITHOUT_ROWS = ("modal", "pooled_modal", "model", "guess")
LEAST = 1.0  # records: the least effect of the exact table that effects are compared with
