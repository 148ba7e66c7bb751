"""The decision: thresholds and findings in, pass, review or fail with reasons out.

No plots and no HTML: the page, the exit code and the release all use this one verdict. Chains that
have not converged never pass, and neither does a study whose limits or intruders are laxer than the
defaults: they go to review, where a person says why.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from understudy.display.described import Described
from understudy.display.panels import Panel
from understudy.display.result import Shown
from understudy.errors import ExitCode
from understudy.findings.record import Record
from understudy.findings.schema import Findings, SynthesizerFindings
from understudy.summaries import number
from understudy.verdict.chain_reasons import CONVERGENCE, convergence_reason
from understudy.verdict.data_reasons import reasons_about_data
from understudy.verdict.grading import Outcome, Reason, table_ratios
from understudy.verdict.relaxed import (
    relaxed_targets,
    relaxed_thresholds,
    repeated_runs,
    weaker_intruders,
)
from understudy.verdict.risk_reasons import risk_reasons
from understudy.verdict.thresholds import Thresholds
from understudy.verdict.utility_reasons import utility_reasons

__all__ = ["Outcome", "Reason", "SynthesizerVerdict", "Verdict", "judge"]

MARKS = {"pass": "✓", "review": "?", "fail": "✗"}
ORDER: tuple[Outcome, ...] = ("pass", "review", "fail")


class SynthesizerVerdict(Record):
    """What was decided about one synthesizer's sets.

    Attributes
    ----------
    outcome : {"pass", "review", "fail"}
        The worst of its own reasons and those about the data and the limits.
    reasons : tuple of Reason
        Its own.
    """

    outcome: Outcome
    reasons: tuple[Reason, ...]

    @property
    def converged(self) -> bool:
        """Whether its chains have converged."""
        return not any(
            reason.subject == CONVERGENCE and reason.outcome != "pass" for reason in self.reasons
        )

    def worst(self, subject: str) -> float | None:
        """Find the worst value of a subject; of overlaps that is the least."""
        values = [
            reason.found
            for reason in self.reasons
            if reason.subject == subject and reason.found is not None
        ]
        if not values:
            return None
        return min(values) if "overlap" in subject else max(values)


class Verdict(Shown, Record):
    """What was decided.

    Attributes
    ----------
    outcome : {"pass", "review", "fail"}
        That of the best synthesizer; fail where there is none.
    recommended : str or None
        The synthesizer with the best utility among those with the best outcome; None if all fail.
    synthesizers : dict of str to SynthesizerVerdict
        By name.
    reasons : tuple of Reason
        All of them, those about the data and the limits first.
    thresholds : Thresholds
        The limits that were applied.
    findings : str or None
        Digest of the findings that were judged, where they lie in a file.
    """

    outcome: Outcome
    recommended: str | None
    synthesizers: dict[str, SynthesizerVerdict]
    reasons: tuple[Reason, ...]
    thresholds: Thresholds = Thresholds()
    findings: str | None = None

    def _described(self) -> Described:
        """Show the decision and every reason."""
        best = f", recommended: {self.recommended}" if self.recommended else ""
        rows = [
            [reason.subject, reason.synthesizer or "the data", f"{MARKS[reason.outcome]} "
             f"{reason.outcome}", number(reason.found, missing="-"),
             number(reason.limit, missing="-")]
            for reason in self.reasons
        ]  # fmt: skip
        header = ["judged", "of", "outcome", "measured", "limit"]
        return Described(f"Verdict: {self.outcome}{best}", header, rows)

    def _panels(self) -> Mapping[str, Panel]:
        listed = [reason for reason in self.reasons if reason.found is not None and reason.limit]
        return {
            "reasons": Panel(
                "measured, as a share of the limit up to which it passes",
                [f"{reason.subject}, {reason.synthesizer or 'the data'}" for reason in listed],
                [_share_of_limit(reason) for reason in listed],
                references={"limit": [1.0] * len(listed)},
                values_name="measured",
            )
        }

    @property
    def exit_code(self) -> ExitCode:
        """Exit status: done for pass and review; "not converged" where no chains can be judged."""
        if self.outcome != "fail":
            return ExitCode.DONE
        failed = [
            any(
                reason.subject == CONVERGENCE and reason.outcome == "fail"
                for reason in verdict.reasons
            )
            for verdict in self.synthesizers.values()
        ]
        if failed and all(failed):
            return ExitCode.NOT_CONVERGED
        return ExitCode.DO_NOT_RELEASE


def _share_of_limit(reason: Reason) -> float | None:
    """Give found over limit; of what has to be large enough, limit over found."""
    value, limit = reason.found, reason.limit
    if value is None or not limit:
        return None
    if "overlap" in reason.subject or "pattern" in reason.subject:
        return limit / value if value else None
    return value / limit


def judge(findings: Findings, thresholds: Thresholds | None = None) -> Verdict:
    """Decide on a study, by the default limits when left out."""
    limits = thresholds or Thresholds()
    about_data = [
        *reasons_about_data(findings.data, limits),
        *relaxed_thresholds(limits),
        *weaker_intruders(findings),
        *repeated_runs(findings),
    ]
    judged = {
        synthesizer.name: [
            convergence_reason(synthesizer),
            *risk_reasons(synthesizer, limits),
            *utility_reasons(synthesizer, limits),
            *relaxed_targets(synthesizer),
        ]
        for synthesizer in findings.synthesizers
    }
    synthesizers = {
        name: SynthesizerVerdict(outcome=_worst([*about_data, *reasons]), reasons=tuple(reasons))
        for name, reasons in judged.items()
    }
    outcomes = {name: verdict.outcome for name, verdict in synthesizers.items()}
    best = min(outcomes.values(), key=ORDER.index, default="fail")
    candidates = [
        (_loss(synthesizer), synthesizer.name)
        for synthesizer in findings.synthesizers
        if outcomes[synthesizer.name] == best != "fail"
    ]
    return Verdict(
        outcome=best,
        recommended=min(candidates)[1] if candidates else None,
        synthesizers=synthesizers,
        thresholds=limits,
        reasons=(*about_data, *(reason for reasons in judged.values() for reason in reasons)),
    )


def _worst(reasons: Iterable[Reason]) -> Outcome:
    return max((reason.outcome for reason in reasons), key=ORDER.index, default="pass")


def _loss(synthesizer: SynthesizerFindings) -> float:
    """Deviation of the worst tables over the truth floor, as on a frontier: smaller is better."""
    ratios = [ratio for _, ratio in table_ratios(synthesizer) if ratio is not None]
    return max(ratios, default=0.0)
