"""What a study measured, as plain numbers and words: all that verdict, pages and release see.

The measures' own results hold the confidential data and live in memory. Findings do not: they are
frozen, go through JSON and back unchanged, and hold no clock times, so that the same study writes
the same bytes. They are confidential all the same: `publishing` chooses what may become public.

Undefined values are None, never NaN, 0 or 1.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

from understudy.findings.attack_schema import (
    AttackFindings,
    FullySyntheticFindings,
    InformedFindings,
    OwnRecordFindings,
    PredictionFindings,
)
from understudy.findings.label_schema import LabelCounts, PairCounts
from understudy.findings.record import Record
from understudy.findings.survey_schema import (
    PassedFindings,
    PopulationFindings,
    WeightedFindings,
)
from understudy.summaries import Spread, spread_of

__all__ = [
    "LARGEST_RHAT",
    "WORST_CELL",
    "WORST_MARGIN",
    "AttackFindings",
    "AttributeFindings",
    "Baseline",
    "Coefficient",
    "Convergence",
    "DataFindings",
    "Findings",
    "FullySyntheticFindings",
    "Histogram",
    "IdentificationFindings",
    "InformedFindings",
    "IntruderFindings",
    "OwnRecordFindings",
    "Pattern",
    "PatternRisk",
    "PatternShares",
    "PredictionFindings",
    "QuantityRow",
    "RecordRisk",
    "Regression",
    "RiskFindings",
    "SpreadFindings",
    "SynthesizerFindings",
    "TableRow",
    "Tables",
    "Trace",
    "UtilityFindings",
    "VariableFindings",
    "WithinPattern",
]


class SpreadFindings(Record):
    """A measure over several synthetic sets, or over the repeats of a baseline."""

    mean: float | None
    minimum: float | None
    maximum: float | None
    standard_error: float | None
    values: tuple[float | None, ...]  # (set,) or (repeat,)

    @classmethod
    def of(cls, values: Iterable[float | None]) -> Self:
        """Summarize a measure; None means undefined and is left out."""
        listed = tuple(None if value is None else float(value) for value in values)
        return cls.stored(spread_of(listed), listed)

    @classmethod
    def stored(cls, spread: Spread, values: tuple[float | None, ...] = ()) -> Self:
        """Make the stored form of a spread, with the values it is over where they are kept."""
        return cls(
            mean=spread.mean,
            minimum=spread.minimum,
            maximum=spread.maximum,
            standard_error=spread.standard_error,
            values=values,
        )


class Histogram(Record):
    """How often each value occurs; or, with one more edge than counts, each interval."""

    edges: tuple[float, ...]
    counts: tuple[float, ...]


class VariableFindings(Record):
    """One variable: its name, its part in the study, its levels in order."""

    name: str
    role: str  # "kept" or "synthesized"
    description: str
    levels: tuple[str, ...]
    labels: dict[str, str]  # what a level stands for, where the codebook says so


class Pattern(Record):
    """One combination of the kept variables."""

    levels: tuple[str, ...]  # (kept variable,)
    records: int


class DataFindings(Record):
    """What the data look like."""

    n_records: int
    n_dropped: int
    n_combinations: int
    n_labels: int
    kept: tuple[str, ...]
    synthesized: tuple[str, ...]
    variables: tuple[VariableFindings, ...]
    patterns: tuple[Pattern, ...]  # in the order of `Microdata.patterns`; see `pattern_numbers`
    codebook_declared: bool
    codebook_reviewed: bool
    undeclared: tuple[str, ...] = ()  # variables whose levels no codebook declares
    observed_only: tuple[str, ...] = ()  # declared variables each level of which somebody has
    rare_levels: dict[str, int] = {}  # by variable: levels that fewer than three records have
    dominated_patterns: int = 0  # patterns in which one label holds nearly everybody
    dominated_records: int = 0  # and the records in them
    deciding: tuple[str, ...] = ()  # kept variables whose levels each leave a single label
    n_patterns: int = 0  # of all, of which `patterns` may be a part
    pattern_numbers: tuple[int, ...] = ()  # their indices in `Microdata.patterns`
    pattern_sizes: dict[int, int] = {}  # how many patterns have so many records, up to a few
    largest_pattern: int = 0
    passed: tuple[PassedFindings, ...] = ()
    passed_together: tuple[tuple[str, ...], ...] = ()  # of them, those that tell a label together
    passed_unique: int = 0  # records that all of them together make unique, as above
    passed_unique_unweighted: int = 0  # the same without the survey weight
    population: PopulationFindings | None = None  # with a survey weight
    missing_levels: dict[str, int] = {}  # records without a value, where missing is a level
    holes: dict[str, int] = {}  # and where missing values are modelled


LARGEST_RHAT = 1000.0  # written for larger ones: chains that are constants, each its own
WORST_CELL = "label probability, worst of"  # name of that row, before the number of them
WORST_MARGIN = "margin of the label, worst of"  # the same, of expected records with a level


class QuantityRow(Record):
    """Convergence of one label-free quantity."""

    quantity: str
    rhat: float | None
    ess_bulk: float | None
    ess_tail: float | None
    converged: bool
    judged: bool = True  # otherwise it is shown only


class Trace(Record):
    """One scalar quantity along the chains, thinned for looking at, and the ranks of all draws."""

    quantity: str
    draws: tuple[int, ...]  # (point,) number of the kept draw
    values: tuple[tuple[float, ...], ...]  # (chain, point)
    ranks: tuple[tuple[float, ...], ...]  # (chain, bin) draws of a chain by rank; ties split


class Convergence(Record):
    """Whether a fit has converged, and what shows it."""

    converged: bool
    chains: int
    draws: int
    warmup_sweeps: int
    sweeps_per_draw: int
    quantities: tuple[QuantityRow, ...]  # scalar quantities, worst margin and label probability
    n_cells: int  # label probabilities that were judged
    n_cells_failed: int
    n_margins: int = 0  # margins of the synthesized variables that were judged
    n_margins_failed: int = 0
    cell_rhats: Histogram | None
    traces: tuple[Trace, ...]
    autocorrelation_time: float | None  # kept draws that make an independent one
    spacing: float | None  # kept draws between neighbouring sets of a chain; None: one set a chain
    rhat_target: float
    ess_target: float
    worst_rhat: float | None = None  # over what is judged by the targets, or misses its limit
    least_ess: float | None = None  # bulk or tail, over the same
    label_rhat_limit: float | None = None  # of each label probability, allowing for their number
    set_chains: tuple[int, ...] = ()  # (set,) the chain that each set comes from
    set_correlation: float | None = None  # of neighbouring sets of a chain, worst of the sums

    @property
    def n_judged(self) -> int:
        """Everything that had to meet the targets: sums, margins and label probabilities."""
        return len(self._sums) + self.n_margins + self.n_cells

    @property
    def n_failed(self) -> int:
        """How many of them miss a target."""
        failed = sum(not row.converged for row in self._sums)
        return failed + self.n_margins_failed + self.n_cells_failed

    @property
    def not_judged(self) -> list[QuantityRow]:
        """Numbers about the model that miss the targets and are only shown."""
        return [row for row in self.quantities if not row.judged and not row.converged]

    @property
    def _sums(self) -> list[QuantityRow]:
        many = (WORST_CELL, WORST_MARGIN)
        return [row for row in self.quantities if row.judged and not row.quantity.startswith(many)]


class TableRow(Record):
    """One table of the global utility."""

    order: int
    table: str
    cells: int
    deviation: float
    noise_floor: float
    truth_floor: float


class Tables(Record):
    """Global utility: how far tables of the synthetic sets lie from the original's."""

    orders: tuple[int, ...]
    deviation: tuple[SpreadFindings, ...]  # (order,) sum over cells, tables of one order added
    noise_floor: tuple[float, ...]  # (order,) what sets drawn from the sample itself score
    truth_floor: tuple[float, ...]  # (order,) what a synthesizer that knew the population scores
    tables: tuple[TableRow, ...]
    signed: tuple[Histogram, ...]  # (order,) signed deviations of all cells and sets
    signed_floor: tuple[Histogram, ...]  # (order,) the same for perfect sets
    propensity_ratio: float | None  # 1: as hard to tell apart as if the population were known
    minimum: tuple[float, ...] = ()  # (order,) what labels drawn from all labels alike score


class Coefficient(Record):
    """One coefficient, from the original and combined over the sets."""

    name: str
    original: float | None
    original_lower: float | None
    original_upper: float | None
    combined: float | None
    combined_lower: float | None
    combined_upper: float | None
    overlap: float | None
    overlap_floor: float | None
    note: str | None
    overlap_truth_floor: float | None = None


class Regression(Record):
    """Analysis-specific utility."""

    formula: str
    family: str
    train: int
    coefficients: tuple[Coefficient, ...]
    mean_overlap: float | None
    overlap_floor: float | None  # what sets drawn from the sample itself reach
    predictions_original: Histogram | None
    predictions_synthetic: Histogram | None  # all sets together, same edges
    distance: SpreadFindings | None
    distance_floor: float | None
    overlap_in_common: float | None = None  # over the coefficients that `overlap_floor` is over
    n_in_common: int | None = None  # how many those are
    overlap_truth_floor: float | None = None  # what a synthesizer that knew the population reaches
    distance_truth_floor: float | None = None
    n_coefficients: int = 0  # of all, of which `coefficients` may be a part
    n_failed: int = 0  # coefficients with a note: separated, absent, ...


class PatternShares(Record):
    """The label's distribution in one pattern; labels that occur in neither are left out."""

    labels: tuple[int, ...]  # numbers of combined labels
    original: tuple[float, ...]
    synthetic: tuple[float, ...]  # mean over sets
    lowest: tuple[float, ...]  # over sets
    highest: tuple[float, ...]
    n_others: int = 0  # labels of the pattern that are left out


class WithinPattern(Record):
    """Utility within patterns; arrays are in the order of `DataFindings.patterns`.

    `spreads_above` is None where a perfect set cannot differ from the original and a set does.
    """

    distance: tuple[float, ...]  # (pattern,) total variation distance, mean over sets
    noise_floor: tuple[float, ...]  # (pattern,) of sets drawn from the sample itself
    truth_floor: tuple[float, ...]  # (pattern,) of a synthesizer that knew the population
    spreads_above: tuple[float | None, ...]  # (pattern,) standard deviations above `truth_floor`
    shares: tuple[PatternShares | None, ...]  # None where the pattern is not drawn
    mean_distance: float = 0.0  # over all records, in all patterns
    mean_floor: float = 0.0
    mean_truth_floor: float = 0.0
    n_far: int = 0  # patterns, of all, more than three standard deviations above their floor


class Baseline(Record):
    """One baseline of the data for one intruder: Uniform, Marginal, Others or Perfect."""

    samples: dict[str, SpreadFindings]  # by measure, over repeats
    exact: dict[str, float | None]  # by measure, closed forms
    joint: dict[
        str, SpreadFindings
    ]  # by measure, an intruder with as many files as the study releases
    attacks: dict[str, float] = {}  # by attack, expected right guesses or matches


NOT_DRAWN = Baseline(samples={}, exact={}, joint={})


class IntruderFindings(Record):
    """What is known about one intruder before any synthesizer."""

    known: tuple[str, ...]
    baselines: dict[str, Baseline]  # by name; missing where a table is too large
    population: PopulationFindings | None = None  # with a survey weight

    @property
    def minimum(self) -> Baseline:
        """The baseline Uniform, the paper's Min."""
        return self.baselines.get("Uniform", NOT_DRAWN)

    @property
    def maximum(self) -> Baseline:
        """The baseline Perfect, the paper's Max."""
        return self.baselines.get("Perfect", NOT_DRAWN)


class PatternRisk(Record):
    """What one pattern contributes."""

    pattern: int  # its index in `Microdata.patterns`
    expected_match_risk: float
    attribute_matches: float
    levels: tuple[str, ...] = ()  # (kept variable,)
    records: int = 0


class RecordRisk(Record):
    """One of the records that carry most of the risk."""

    row: int  # row of the confidential file, the first being 1
    pattern: int
    match_probability: float  # mean over sets
    label_right: float  # share of the sets in which the label is the true one
    levels: tuple[str, ...] = ()  # (kept variable,)


class IdentificationFindings(Record):
    """What one intruder learns from a synthesizer's sets."""

    known: tuple[str, ...]
    measures: dict[
        str, SpreadFindings
    ]  # expected_match_risk, true_match_rate, false_match_rate, ...
    joint: dict[str, float | None]
    random_linkage: float
    patterns: tuple[PatternRisk, ...]  # those that carry the most, the worst first
    records: tuple[RecordRisk, ...]  # those that carry the most, the worst first
    share_of_top_percent: float | None  # of the match risk, carried by one record in a hundred
    random_within_cells: float | None = None  # rows paired at random within the known cells
    attacks: dict[str, tuple[float, float | None]] = {}  # worst case, as released; None: impossible
    alignment: str = ""  # whether rows look paired with their records, in words


class AttributeFindings(Record):
    """How often the synthetic label is the true one."""

    matches: SpreadFindings
    joint_matches: float
    attacks: dict[str, tuple[float, float | None]] = {}  # worst case, as released; None: impossible
    most_frequent_label: float  # right guesses from the original's most frequent label per pattern
    most_frequent_synthetic_label: float | None = None  # the same from a synthetic set, mean


class UtilityFindings(Record):
    """What an analyst keeps with one synthesizer's sets."""

    tables: Tables
    regressions: tuple[Regression, ...]  # one per analysis of the plan
    within: WithinPattern
    weighted: WeightedFindings | None = None
    labels: tuple[LabelCounts, ...] = ()  # by synthesized variable
    pairs: tuple[PairCounts, ...] = ()


class RiskFindings(Record):
    """What intruders learn from one synthesizer's sets."""

    identification: tuple[IdentificationFindings, ...]  # one per intruder
    attribute: AttributeFindings | None  # None: fully synthetic, no row stands for a record
    by_knowledge: dict[str, float]  # expected match risk by what an intruder knows, in words
    own_record: OwnRecordFindings | None = None  # None: not measured
    prediction: PredictionFindings | None = None  # None: not measured
    fully_synthetic: FullySyntheticFindings | None = None  # None: some variables are kept
    copies: int = 0  # sets in which every label is the true one
    copy_log_chance: float = 0.0  # log probability that a set drawn from the exact table is one


class SynthesizerFindings(Record):
    """Everything about one synthesizer's sets."""

    name: str  # its key in the plan
    title: str  # in words
    kind: str  # "dpmpm", "areal", ...: decides the colour
    settings: dict[str, str]
    m: int
    fully_synthetic: bool
    convergence: Convergence
    utility: UtilityFindings
    risk: RiskFindings
    notes: tuple[str, ...]  # warnings that came up, without values
    imputations: int | None = None  # that the sets are of; None: they show none


class Findings(Record):
    """A whole study."""

    title: str
    data: DataFindings
    intruders: tuple[IntruderFindings, ...]
    synthesizers: tuple[SynthesizerFindings, ...]
    versions: dict[str, str]
    seed: int | None
    data_fingerprint: str
    set_digests: dict[str, tuple[str, ...]]  # by synthesizer: digests of the files of its sets
    runs: int | None = None  # of the same data and plan, each with its own seed; None: no register
    runs_of_data: int | None = None  # of the same people, with any plan
    frontier_points: int = 0  # of registered frontiers of the same people
    registered_late: bool = False  # the study had begun before it was entered in its register
