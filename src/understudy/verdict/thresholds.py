"""The limits of the verdict, each with a default that can be defended before a review board.

A limit comes in pairs: up to the first figure a measure passes, up to the second it goes to review
(a person decides and writes down why), beyond it fails. Risks are judged by their *place* between
the data's own reference levels: 0 is Min, labels drawn from all labels alike; 1 is Max, labels
drawn from their pattern's own distribution, which is what publishing the exact table of labels by
kept variables would give away. Nothing keeps a place between 0 and 1. Utility is judged by what a
perfect synthesizer would reach with as many sets.
"""

from __future__ import annotations

from pydantic import Field, model_validator

from understudy.settings import Settings

__all__ = ["Thresholds"]

RISING = (
    "match_risk",
    "attribute_risk",
    "joint_match_risk",
    "joint_attribute_risk",
    "true_match_rate",
    "table_deviation",
    "within_pattern",
)


class Thresholds(Settings):
    """Limits of the verdict; every one has a default that can be defended before a review board.

    Attributes
    ----------
    match_risk_pass, match_risk_review : float
        Place of the expected match risk between Min (0) and Max (1), for every intruder. Passing at
        0.75 keeps a quarter of the way below what the exact table would give away; what is surely
        above Max gives away more than a table can, and fails.
    attribute_risk_pass, attribute_risk_review : float
        Place of the number of records whose label is the true one.
    joint_match_risk_pass, joint_match_risk_review : float
        Place of the expected match risk of an intruder who holds all m files, between the levels of
        that intruder. She holds what is released, so the same limits hold for her.
    joint_attribute_risk_pass, joint_attribute_risk_review : float
        Place of the number of labels that the vote over all m files gets right.
    true_match_rate_pass, true_match_rate_review : float
        Share of all records that an intruder finds as a single and right match: an absolute limit,
        for data whose own Max is already high.
    table_deviation_pass, table_deviation_review : float
        Deviation of tables over what a perfect synthesizer scores, for every order; 1 is perfect.
    overlap_pass, overlap_review : float
        Mean interval overlap of an analysis, as a share of what perfect sets reach: at least this.
    within_pattern_pass, within_pattern_review : float
        Total variation distance within patterns beyond the noise floor, mean over records: the
        share of records whose label would have to change for reasons other than chance.
    smallest_pattern : int
        Kept variables are released as they are, so each of their combinations should be shared by
        at least so many records.
    small_pattern_share_review : float
        Share of all records that may lie in smaller patterns for the study to go to review rather
        than fail.
    codebook_required : bool
        Whether levels must come from a declared codebook: levels found in the data say who is in
        them.
    """

    match_risk_pass: float = Field(default=0.75, ge=0, allow_inf_nan=False)
    match_risk_review: float = Field(default=1.0, ge=0, allow_inf_nan=False)
    attribute_risk_pass: float = Field(default=0.75, ge=0, allow_inf_nan=False)
    attribute_risk_review: float = Field(default=1.0, ge=0, allow_inf_nan=False)
    joint_match_risk_pass: float = Field(default=0.75, ge=0, allow_inf_nan=False)
    joint_match_risk_review: float = Field(default=1.0, ge=0, allow_inf_nan=False)
    joint_attribute_risk_pass: float = Field(default=0.75, ge=0, allow_inf_nan=False)
    joint_attribute_risk_review: float = Field(default=1.0, ge=0, allow_inf_nan=False)
    true_match_rate_pass: float = Field(default=0.005, ge=0, le=1)
    true_match_rate_review: float = Field(default=0.02, ge=0, le=1)
    table_deviation_pass: float = Field(default=2.0, ge=0, allow_inf_nan=False)
    table_deviation_review: float = Field(default=4.0, ge=0, allow_inf_nan=False)
    overlap_pass: float = Field(default=0.85, ge=0, le=1)
    overlap_review: float = Field(default=0.6, ge=0, le=1)
    within_pattern_pass: float = Field(default=0.1, ge=0, le=1)
    within_pattern_review: float = Field(default=0.2, ge=0, le=1)
    smallest_pattern: int = Field(default=5, ge=0)
    small_pattern_share_review: float = Field(default=0.05, ge=0, le=1)
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
