"""The intruder who holds all m files at once, and knows that their rows belong together.

Two attacks. In the *vote* she takes, for a record, the label that is most frequent over its m rows.
In the *joint match* she gives every row of a known cell the match probability of each file (1/c for
the c rows that match, 0 for the others), averages these over the files, and only then looks for
the rows with the highest one: their number is c, and T says whether the record's own row is among
them [1]_. Where no file has any match there is no candidate: c = 0.

If a synthesizer uses the record's own label, every further file makes the vote and the joint match
more certain, and the risk of one file understates that of all.

References
----------
.. [1] Reiter, J. P. and Mitra, R. (2009). Estimating risks of identification disclosure in
   partially synthetic data. Journal of Privacy and Confidentiality, 1(1), 99-110.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.display.described import Described
from understudy.display.panels import Panel
from understudy.display.result import Shown
from understudy.risk import match_kernels as kernels
from understudy.risk.matching import (
    NO_UNIQUE_MATCHES,
    Labels,
    MatchCounts,
    PerRecord,
    Targets,
    count_matches,
)
from understudy.summaries import counted, number

__all__ = ["JointAttribute", "JointIdentification", "joint_identification", "vote_right"]

ROWS = 1 << 16  # rows looked at together


@dataclass(frozen=True, repr=False)
class JointIdentification(Shown):
    """Identification by an intruder who averages match probabilities over all files.

    Attributes
    ----------
    expected_match_risk, true_match_rate : float
        As for one file, after averaging.
    false_match_rate : float or None
        None where there are no unique matches.
    unique_matches, true_matches : int
        Records with one best row, and those where it is their own.
    n_sets : int
        Files that the intruder holds.
    """

    expected_match_risk: float
    true_match_rate: float
    false_match_rate: float | None
    unique_matches: int
    true_matches: int
    n_sets: int

    def _described(self) -> Described:
        """Show a readable table."""
        return Described(
            f"Match probabilities averaged over {counted(self.n_sets, 'set')}",
            ("measure", "value"),
            [
                ("expected match risk", number(self.expected_match_risk)),
                ("true match rate", number(self.true_match_rate)),
                (
                    "false match rate",
                    number(self.false_match_rate, missing=NO_UNIQUE_MATCHES),
                ),
                ("unique matches", f"{self.unique_matches:,}"),
            ],
        )

    def _panels(self) -> Mapping[str, Panel]:
        rates = {
            "true match rate": self.true_match_rate,
            "false match rate": self.false_match_rate,
        }
        records = {
            "expected match risk": self.expected_match_risk,
            "unique matches": self.unique_matches,
            "true matches": self.true_matches,
        }
        return {
            "records": Panel("records", list(records), list(records.values()), bars=True),
            "rates": Panel("rate", list(rates), list(rates.values()), bars=True),
        }


@dataclass(frozen=True, repr=False)
class JointAttribute(Shown):
    """Labels guessed by vote over all files.

    Attributes
    ----------
    matches : float
        Expected number of records whose most frequent label is the true one, ties broken at
        random.
    share : float
        The same, as a share of all records.
    n_sets : int
        Files that vote.
    """

    matches: float
    share: float
    n_sets: int

    def _described(self) -> Described:
        """Show a readable table."""
        rows = [("true labels", number(self.matches)), ("share of records", number(self.share))]
        return Described(f"Vote over {counted(self.n_sets, 'set')}", ("measure", "value"), rows)

    def _panels(self) -> Mapping[str, Panel]:
        return {"share": Panel("share of records", ["true labels"], [self.share], bars=True)}


def joint_identification(
    targets: Targets, matched: NDArray[np.int32], counts: NDArray[np.int64]
) -> JointIdentification:
    """Match records with all files at once.

    Of each row its target, (set, record), -1 for none; and the rows of each target, (set, target).
    """
    matches = match_jointly(targets, matched, counts)
    return JointIdentification(
        expected_match_risk=matches.expected_match_risk,
        true_match_rate=matches.true_matches / targets.of_record.size,
        false_match_rate=matches.false_match_rate,
        unique_matches=matches.unique_matches,
        true_matches=matches.true_matches,
        n_sets=matched.shape[0],
    )


def match_jointly(
    targets: Targets, matched: NDArray[np.int32], counts: NDArray[np.int64]
) -> MatchCounts:
    """Form c and T from averaged match probabilities and add them up."""
    candidates, hit = _best_rows(targets, matched, counts)
    return count_matches(targets, candidates, hit, PerRecord.zeros(hit.size))


def match_each_jointly(
    targets: Targets, matched: NDArray[np.int32], counts: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Give each record's T/c from averaged match probabilities, (record,)."""
    candidates, hit = _best_rows(targets, matched, counts)
    return hit / np.maximum(candidates[targets.of_record], 1)


def _best_rows(
    targets: Targets, matched: NDArray[np.int32], counts: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Candidates c by target and T by record, from averaged match probabilities."""
    candidates = np.zeros(len(targets), dtype=np.int64)  # (target,)
    hit = np.zeros(targets.of_record.size, dtype=np.bool_)  # (record,)
    kernels.joint_matches(targets.of_record, matched, counts, candidates, hit)
    return candidates, hit


def vote_right(labels: Labels) -> NDArray[np.float64]:
    """Chance that the vote over all sets finds a record's true label, (record,)."""
    true = labels.of_record
    right = np.zeros(true.size)  # (record,)
    for start in range(0, true.size, ROWS):
        rows = slice(start, start + ROWS)
        kernels.vote(true[rows], labels.of_rows(rows), right[rows])
    return right
