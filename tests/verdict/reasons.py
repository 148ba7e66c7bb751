"""What the tests of the verdict share: finding a reason."""

from __future__ import annotations

from understudy.verdict.grading import Reason
from understudy.verdict.verdict import Verdict


def of(verdict: Verdict, subject: str) -> Reason:
    """Find the one reason with this subject."""
    (only,) = [reason for reason in verdict.reasons if reason.subject == subject]
    return only
