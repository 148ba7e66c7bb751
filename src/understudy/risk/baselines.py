"""Baselines: what four reference synthesizers would give away, as samples and in closed form.

*Uniform* (the paper's Min) redraws every record's label from all labels alike, *Marginal* from the
labels of all records, *Others* from those of the other records of its pattern, *Perfect* (the
paper's Max) from those of its pattern, its own included. All are tables of label probabilities and
are measured like any synthetic set, by the same attacks.

The paper calls Min and Max bounds, but nothing keeps a synthesizer between them: one that uses a
record's own label can exceed Max, and rows that are mixed up fall below Min. With a skewed label
even Marginal comes close to Perfect. For the false match rate Max is the lower one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, product
from typing import ClassVar

import polars as pl

from understudy.checks import check_whole
from understudy.display.described import Described
from understudy.display.panels import Panel
from understudy.display.result import Shown, in_users_kind
from understudy.errors import quoted_list
from understudy.microdata.data_arguments import check_data, check_kept
from understudy.microdata.label_rows import (
    SparseTable,
    others_table,
    perfect_table,
)
from understudy.microdata.label_table import (
    LARGEST_TABLE,
    LabelTable,
    check_table_size,
    empirical_labels,
    hole_labels,
    marginal_labels,
    others_labels,
    uniform_labels,
)
from understudy.microdata.table import Microdata
from understudy.public_errors import only_our_errors
from understudy.randomness import check_seed
from understudy.risk.baseline_draws import Attacked, Sampling, attacked, in_closed_form
from understudy.risk.closed_form import ExpectedRisk
from understudy.risk.matching import (
    NO_UNIQUE_MATCHES,
)
from understudy.spreading import in_order
from understudy.summaries import Spread, number, spread_frame, spread_of
from understudy.work_done import Parts

__all__ = ["Baseline", "InherentRisk", "inherent_risk"]

MEASURES = {
    "expected_match_risk": "expected match risk",
    "true_match_rate": "true match rate",
    "false_match_rate": "false match rate",
    "unique_matches": "unique matches",
    "attribute_matches": "attribute matches",
}
ROWS_OF_TASK = 1 << 20  # about, drawn and attacked at a time; no result depends on it


@dataclass(frozen=True, repr=False, eq=False)
class Baseline(Shown):
    """One baseline: what redrawing all labels in one way would give away.

    Attributes
    ----------
    name : {"Uniform", "Marginal", "Others", "Perfect"}
        What labels are redrawn from.
    samples : polars.DataFrame
        One row per repeat: ``expected_match_risk``, ``true_match_rate``, ``false_match_rate``
        (null where there are no unique matches), ``unique_matches``, ``attribute_matches``,
        ``modal_matches`` (the most frequent label of the pattern guessed).
    spreads : mapping of str to Spread
        Mean, minimum, maximum and standard error over repeats, by measure.
    expected : ExpectedRisk
        The same in closed form, where it exists.
    joint : polars.DataFrame or None
        One row per repeat in which as many files as asked for are drawn and attacked together:
        the measures of identification, the vote's ``attribute_matches``, and ``modal_matches``
        guessed from all files together.
    model : float or None
        Expected right labels of one who believes a model trained on that many files.
    """

    _frames: ClassVar[tuple[str, ...]] = ("attacks", "samples")
    name: str
    samples: pl.DataFrame
    spreads: Mapping[str, Spread]
    expected: ExpectedRisk
    joint: pl.DataFrame | None
    model: float | None

    @property
    def expected_match_risk(self) -> float | None:
        """Mean of the samples; `expected` has it exactly."""
        return self.spreads["expected_match_risk"].mean

    @property
    def true_match_rate(self) -> float | None:
        """Mean of the samples; `expected` has it exactly."""
        return self.spreads["true_match_rate"].mean

    @property
    def false_match_rate(self) -> float | None:
        """Mean over the samples that have unique matches; None where none has."""
        return self.spreads["false_match_rate"].mean

    @property
    def unique_matches(self) -> float | None:
        """Mean of the samples; `expected` has it exactly."""
        return self.spreads["unique_matches"].mean

    @property
    def attribute_matches(self) -> float | None:
        """Mean of the samples; `expected` has it exactly."""
        return self.spreads["attribute_matches"].mean

    @property
    def joint_spreads(self) -> Mapping[str, Spread]:
        """Mean, minimum, maximum and standard error of the joint attacks, by measure."""
        return {} if self.joint is None else _spreads(self.joint)

    @property
    def attacks(self) -> pl.DataFrame:
        """Expected success of every attack on this baseline, rows aligned.

        Returns
        -------
        polars.DataFrame
            ``attack`` (`understudy.risk.own_record.attacks`), ``mean`` and ``standard_error`` over
            repeats, ``exact`` in closed form; null where there is none. Attacks on all files only
            where joint attacks were asked for.
        """
        exact = {
            "row": self.expected.attribute_matches,
            "match_one_file": self.expected.expected_match_risk,
        }
        columns = {
            "row": (self.samples, "attribute_matches"),
            "vote": (self.joint, "attribute_matches"),
            "modal": (self.samples, "modal_matches"),
            "pooled_modal": (self.joint, "modal_matches"),
            "match_one_file": (self.samples, "expected_match_risk"),
            "match_all_files": (self.joint, "expected_match_risk"),
        }
        rows: list[tuple[str, float | None, float | None, float | None]] = []
        for attack, (frame, column) in columns.items():
            if frame is not None:
                spread = spread_of(frame[column].to_list())
                rows.append((attack, spread.mean, spread.standard_error, exact.get(attack)))
            if attack == "pooled_modal" and self.model is not None:
                rows.append(("model", self.model, None, self.model))
        matches = [row[1:] for row in rows if row[0].startswith("match")]
        rows.append(("match_best", *max(matches, key=lambda row: row[0] or 0.0)))
        numbers = dict.fromkeys(("mean", "standard_error", "exact"), pl.Float64)
        return pl.DataFrame(rows, schema={"attack": pl.String, **numbers}, orient="row")

    def cells(self, name: str, together: bool = False) -> tuple[str, str, str, str]:
        """Write a measure's mean, its standard error, the draws it is over, and its closed form."""
        spread = (self.joint_spreads if together else self.spreads)[name]
        exact: float | None = None if together else getattr(self.expected, name, None)
        error = number(spread.standard_error, missing="-")
        mean = number(spread.mean, spread.standard_error, missing=NO_UNIQUE_MATCHES)
        return mean, error, f"{spread.files}", number(exact, missing="none")

    def _described(self) -> Described:
        """Show a readable table."""
        rows = [(words, *self.cells(name)) for name, words in MEASURES.items()]
        title = f"{self.name} baseline, known: {quoted_list(self.expected.known)}"
        return Described(title, ("measure", "mean", "std. error", "draws", "exact"), rows)

    def _panels(self) -> Mapping[str, Panel]:
        return {name: _baseline_panel(words, name, [self]) for name, words in MEASURES.items()}


@dataclass(frozen=True, repr=False, eq=False)
class InherentRisk(Shown):
    """The baselines for one intruder's knowledge.

    Attributes
    ----------
    known : tuple of str
        Kept variables that the intruder knows, besides the true label.
    minimum, maximum : Baseline
        The baselines Uniform and Perfect.
    baselines : mapping of str to Baseline
        All four by name. Where holes are modelled, `Others` needs a table with a row per
        combination, and is left out where that would not fit into memory.
    n_records, n_labels, repeats : int
        Sizes of the data and of the samples.
    n_sets : int or None
        Files that the joint intruder holds, where joint attacks were asked for.
    """

    _frames: ClassVar[tuple[str, ...]] = ("measures",)
    known: tuple[str, ...]
    minimum: Baseline
    maximum: Baseline
    baselines: Mapping[str, Baseline]
    n_records: int
    n_labels: int
    repeats: int
    n_sets: int | None = None

    def _described(self) -> Described:
        """Show a readable table."""
        four = list(self.baselines.values())
        rows = [
            (words, *(cell for baseline in four for cell in baseline.cells(name)))
            for name, words in MEASURES.items()
        ]
        if self.n_sets is not None:
            rows += [
                (f"all {self.n_sets} files: {words}",
                 *(cell for baseline in four for cell in baseline.cells(name, together=True)))
                for name, words in MEASURES.items()
            ]  # fmt: skip
        header = ["measure"]
        for name in self.baselines:
            header += [name, "std. error", "draws", "exact"]
        title = (
            f"Baselines of the confidential data ({self.n_records:,} records, {self.n_labels:,} "
            f"labels), known: {quoted_list(self.known)} and the true label"
        )
        return Described(
            title,
            header,
            rows,
            [
                f"  {self.repeats} repeats; draws: those in which a measure is defined, which its "
                "mean is over. Baselines, not bounds: a synthesizer can lie outside. Uniform is "
                "the paper's Min, Perfect its Max; for the false match rate Max is the lower one.",
            ],
        )

    def _panels(self) -> Mapping[str, Panel]:
        four = list(self.baselines.values())
        return {name: _baseline_panel(words, name, four) for name, words in MEASURES.items()}

    @property
    def measures(self) -> pl.DataFrame:
        """One row per baseline and measure: spread over the draws, and the closed form."""
        return pl.concat(
            spread_frame(baseline.spreads).select(
                pl.lit(name).alias("baseline"),
                pl.all(),
                pl.Series("exact", _exact(baseline, baseline.spreads), dtype=pl.Float64),
            )
            for name, baseline in self.baselines.items()
        )


def _exact(baseline: Baseline, names: Iterable[str]) -> list[float | None]:
    return [getattr(baseline.expected, name, None) for name in names]


def _baseline_panel(words: str, name: str, baselines: Sequence[Baseline]) -> Panel:
    """Lay out one measure of some baselines: mean, smallest and largest draw, closed form."""
    spreads = [baseline.spreads[name] for baseline in baselines]
    exact = [value for baseline in baselines for value in _exact(baseline, [name])]
    return Panel(
        words,
        [baseline.name for baseline in baselines],
        [spread.mean for spread in spreads],
        [spread.minimum for spread in spreads],
        [spread.maximum for spread in spreads],
        references={"exact": exact} if any(value is not None for value in exact) else {},
        values_name="mean of the draws",
    )


def _spreads(frame: pl.DataFrame) -> dict[str, Spread]:
    return {measure: spread_of(frame[measure].to_list()) for measure in MEASURES}


@in_users_kind
@only_our_errors
def inherent_risk(
    data: Microdata,
    known: Sequence[str] | str,
    repeats: int = 100,
    seed: int | None = None,
    *,
    sets: int | None = None,
) -> InherentRisk:
    """Measure the baselines of the data, without any synthesizer.

    Parameters
    ----------
    data : Microdata
        The confidential records.
    known : sequence of str
        Kept variables that the intruder knows besides the true label.
    repeats : int
        How often all labels are redrawn, for each baseline.
    seed : int, optional
        Makes the samples repeatable.
    sets : int, optional
        Number of files of the joint intruder; when given, joint attacks are sampled too, on that
        many files in each repeat.

    Returns
    -------
    InherentRisk

    Examples
    --------
    >>> import understudy as us
    >>> risk = us.inherent_risk(us.load_ce_like(), known=["gender"], repeats=2, seed=1)
    >>> round(risk.minimum.expected.attribute_matches, 2)
    46.68
    """
    names = _checked(data, known, repeats, sets)
    tables: dict[str, LabelTable | SparseTable]
    tables = {"Uniform": uniform_labels(data), "Marginal": marginal_labels(data)}
    if not _needs_tables(data):
        tables |= {"Others": others_table(data), "Perfect": perfect_table(data)}
    else:
        if data.n_combinations * data.n_labels <= LARGEST_TABLE:
            tables["Others"] = others_labels(data)
        tables["Perfect"] = empirical_labels(data)
    baselines = _measured(Sampling(data, names, tables, check_seed(seed), sets), repeats)
    return InherentRisk(
        known=names,
        minimum=baselines["Uniform"],
        maximum=baselines["Perfect"],
        baselines=baselines,
        n_records=data.n_records,
        n_labels=data.n_labels,
        repeats=repeats,
        n_sets=sets,
    )


def _checked(
    data: Microdata, known: Sequence[str] | str, repeats: int, sets: int | None
) -> tuple[str, ...]:
    check_data(data)
    check_kept(data, "rows belong to records", "use attribution_risk, which needs no rows")
    check_whole("repeats", repeats, 1)
    check_whole("sets", 1 if sets is None else sets, 1)
    if _needs_tables(data):
        check_table_size(data)
    return data.known(known)


def _measured(sampling: Sampling, repeats: int) -> dict[str, Baseline]:
    """Measure all baselines: a few repeats are a task, and so is what has a closed form."""
    data, sets = sampling.data, sampling.sets
    at_once = max(1, ROWS_OF_TASK // (data.n_records * (1 + (sets or 0))))
    parts = [range(first, min(first + at_once, repeats)) for first in range(0, repeats, at_once)]
    done = Parts(1, 10)
    exact = done(list(in_order(in_closed_form, list(sampling.tables), sampling)))
    drawn = in_order(attacked, list(product(sampling.tables, parts)), sampling)
    baselines = {}
    for name, (expected, model) in zip(sampling.tables, exact, strict=True):
        ours = [next(drawn) for _ in parts]  # (part,) of one file and of all files each
        samples, joint = (_samples(rows, data.n_records) for rows in zip(*ours, strict=True))
        baselines[name] = Baseline(
            name=name,
            samples=samples,
            spreads=_spreads(samples),
            expected=expected,
            joint=None if sets is None else joint,
            model=model,
        )
    return baselines


def _needs_tables(data: Microdata) -> bool:
    """Tell whether rows of labels that occur cannot stand for the baselines' tables."""
    return data.n_records < 2 or hole_labels(data).size > 0


def _samples(parts: Sequence[Attacked], n_records: int) -> pl.DataFrame:
    """Put together what the parts of the repeats give away, a row of each repeat."""
    lists = (list(chain.from_iterable(part)) for part in zip(*parts, strict=True))
    return Attacked(*lists).frame(n_records)
