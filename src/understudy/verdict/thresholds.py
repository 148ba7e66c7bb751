"""The limits of the verdict, each with a default and where it comes from.

A limit comes in pairs: up to the first value a measure passes, up to the second it goes to review
(a person decides and writes down why), beyond it fails. The limits are conventions: no law and no
theorem sets them, and the documentation says what each means on the bundled data.

Risk is judged by what people's *own records* give away: being right about a person because of other
people is inference, which a useful file always allows. Its *position* is the own-record effect of
an attack as a share of that of the exact table of labels by kept variables. Utility is judged by
what a synthesizer that knew the population would reach with as many sets.
"""

from __future__ import annotations

from pydantic import Field, model_validator

from understudy.settings import Settings

__all__ = ["Thresholds"]

RISING = (
    "own_record",
    "repeated_records",
    "true_match_rate",
    "table_deviation",
    "within_pattern",
    "passed_unique",
)


class Thresholds(Settings):
    """Limits of the verdict.

    Attributes
    ----------
    own_record_pass, own_record_review : float
        Position of the worst attack: 0 if nobody's own record matters, 1 if it matters as much as
        in the exact table. A quarter of the exact table's effect passes; more than the whole of it
        fails, since a table would then tell less.
    own_record_least : float
        Records by which an effect has to exceed a limit to count as above it, so that a file in
        which hardly anybody is affected is not judged by a ratio of two small numbers.
    repeated_records_pass, repeated_records_review : float
        Of fully synthetic files, whose rows stand for nobody: records that are unique in the data
        and verbatim in a file, over what chance repeats. As many as by chance pass.
    true_match_rate_pass, true_match_rate_review : float
        Share of all records that an intruder finds as a single and right match: an absolute limit,
        whatever the data themselves give away. At 0.005 it is one person in 200.
    table_deviation_pass, table_deviation_review : float
        Deviation of tables over what a synthesizer that knew the population would score, for every
        order; 1 is as near as a sample allows.
    overlap_pass, overlap_review : float
        Mean interval overlap of an analysis, as a share of what such a synthesizer reaches: at
        least this.
    within_pattern_pass, within_pattern_review : float
        Total variation distance within patterns beyond the noise floor, mean over records: the
        share of records whose label would have to change for reasons other than chance.
    smallest_pattern : int
        Kept variables are released as they are, so each of their combinations should be shared by
        at least so many records: the usual k of k-anonymity in official statistics is 3 to 10.
    small_pattern_share_review : float
        Share of all records that may lie in smaller patterns for the study to go to review rather
        than fail.
    passed_unique_pass, passed_unique_review : float
        Columns that pass through are released as they are, too: share of all records that they make
        unique among the records with the same kept variables.
    codebook_required : bool
        Whether levels must come from a declared codebook: levels found in the data say who is in
        them.
    """

    own_record_pass: float = Field(default=0.25, ge=0, allow_inf_nan=False)
    own_record_review: float = Field(default=1.0, ge=0, allow_inf_nan=False)
    own_record_least: float = Field(default=2.0, ge=0, allow_inf_nan=False)
    repeated_records_pass: float = Field(default=1.0, ge=0, allow_inf_nan=False)
    repeated_records_review: float = Field(default=2.0, ge=0, allow_inf_nan=False)
    true_match_rate_pass: float = Field(default=0.005, ge=0, le=1)
    true_match_rate_review: float = Field(default=0.02, ge=0, le=1)
    table_deviation_pass: float = Field(default=1.5, ge=0, allow_inf_nan=False)
    table_deviation_review: float = Field(default=3.0, ge=0, allow_inf_nan=False)
    overlap_pass: float = Field(default=0.85, ge=0, le=1)
    overlap_review: float = Field(default=0.6, ge=0, le=1)
    within_pattern_pass: float = Field(default=0.1, ge=0, le=1)
    within_pattern_review: float = Field(default=0.2, ge=0, le=1)
    smallest_pattern: int = Field(default=5, ge=0)
    small_pattern_share_review: float = Field(default=0.05, ge=0, le=1)
    passed_unique_pass: float = Field(default=0.01, ge=0, le=1)
    passed_unique_review: float = Field(default=0.5, ge=0, le=1)
    codebook_required: bool = True

    @model_validator(mode="after")
    def _pairs_in_order(self) -> Thresholds:
        for name in RISING:
            low, high = getattr(self, f"{name}_pass"), getattr(self, f"{name}_review")
            if low > high:
                raise ValueError(f"has {name}_pass above {name}_review: pass is the stricter limit")
        if self.overlap_pass < self.overlap_review:
            raise ValueError("has overlap_pass below overlap_review: pass is the stricter limit")
        return self
