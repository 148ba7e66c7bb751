"""Findings about attacks: how often each is right, with people's own records and without."""

from __future__ import annotations

from understudy.findings.record import Record
from understudy.risk.own_record.attacks import LEAST, WITHOUT_ROWS
from understudy.summaries import frequencies

__all__ = [
    "AttackFindings",
    "FullySyntheticFindings",
    "InformedFindings",
    "OwnRecordFindings",
    "PredictionFindings",
]


class AttackFindings(Record):
    """One attack: how often it is right, with people's own records and without."""

    attack: str  # its key in `risk.own_record.attacks.ATTACKS`
    words: str
    setting: str  # "worst case": rows aligned with records; "as released": rows shuffled
    known: tuple[str, ...]  # of an intruder who matches; () for attacks on the label
    with_record: float  # expected records attacked rightly
    without_record: float  # the same, had each person's label not been in the data
    effect: float  # their difference
    standard_error: float
    exact_table: float  # the effect of publishing the exact table
    position: float  # effect as a share of it
    position_error: float
    doubtful: float = 0.0  # of `without_record`, what rests on weights that cannot be trusted
    totals: float = 0.0  # the effect of labels drawn from the overall distribution alone
    measured: float | None = None  # on the sets themselves
    baselines: dict[str, float] = {}  # the same attack on each baseline, aligned rows

    @property
    def scale(self) -> float:
        """What effects are compared with: the exact table's, or one record where that is less."""
        return max(self.exact_table, LEAST)

    @property
    def needs_rows(self) -> bool:
        """Whether it goes by rows, so that shuffling them makes a difference."""
        return self.attack not in WITHOUT_ROWS

    def sentence(self, n_records: int) -> str:
        """Say how often it is right, in natural frequencies."""
        right, without = self.with_record, self.without_record
        return frequencies(right, without, n_records, found=bool(self.known))


class PredictionFindings(Record):
    """What a model trained on the files says about true labels."""

    right: float  # labels guessed right if its probabilities are believed
    gain: float  # mean over records of (confidence - the label's overall share) / (1 - that share)
    at_risk: int  # records whose gain is above the threshold
    threshold: float


class InformedFindings(Record):
    """How far the files move the odds about a person for one who knows every other record."""

    quantiles: dict[str, float]  # by share of the records: at most this factor
    largest: float
    probability_before: float  # of the true label, mean over records
    probability_after: float
    reliable: float  # share of the records whose weights can be trusted in every fit
    noise: float  # Monte-Carlo error of a record's log factor
    rows: tuple[int, ...]  # numbers of the records whose odds move most, the worst first
    factors: tuple[float, ...]  # theirs


class ImputedFindings(Record):
    """What imputed values that files show tell about labels, to one who knows the model."""

    records: int  # that have an imputed kept value, and a label
    measured: int  # of these, standing for all
    with_values: float  # labels guessed right by believing, of all of them
    with_holes: float  # the same if these values had stayed missing
    standard_error: float  # of the difference


class OwnRecordFindings(Record):
    """What people's own records give away, by every attack."""

    evidence: str  # where the success without a record comes from
    attacks: tuple[AttackFindings, ...]
    n_records: int
    unreliable: int = 0  # records whose importance weights cannot be trusted
    refitted: int = 0  # of these, those left out of a fit of their own
    measured: int | None = None  # records that were attacked and stand for all; None: all were
    informed: InformedFindings | None = None  # None: the plan does not ask for it
    local_sensitivity: float | None = None  # None: sets without a fit, or not worked out
    imputed: ImputedFindings | None = None  # None: files show no imputed values, or no fit is there

    def worst(self, setting: str = "worst case") -> AttackFindings | None:
        """Give the attack with the highest position in a setting; None without any."""
        listed = [attack for attack in self.attacks if attack.setting == setting]
        return max(listed, key=lambda attack: (attack.position, attack.effect), default=None)


class FullySyntheticFindings(Record):
    """Records that are unique in the data and verbatim in fully synthetic sets."""

    uniques: int
    repeated: float  # of these, how many a set has, mean over sets
    repeated_somewhere: int  # how many at least one set has
    repeated_everywhere: int = 0  # how many all sets have
    expected_everywhere: float = 0.0  # the same by chance
    expected_repeats: dict[str, float]  # by chance, in several ways
    perfect_repeats: float | None = None  # if rows were drawn from the records themselves
    copies: int = 0  # sets that have the rows of the data, each as often
