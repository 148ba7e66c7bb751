"""Sections on how the values came about: convergence, and settings."""

from __future__ import annotations

from understudy.findings.by_chain import RARE, ByChain, by_chain, chance_in_words, power
from understudy.findings.schema import Convergence, Findings, SpreadFindings, SynthesizerFindings
from understudy.pages.blocks import (
    Block,
    Cell,
    Figure,
    Figures,
    Fold,
    Paragraph,
    Section,
    Table,
    name_cell,
    number_cell,
    rhat_cell,
    topic,
    yes_cell,
)
from understudy.pages.plots.canvas import SeriesStyle
from understudy.pages.plots.traces import rhat_svg, trace_svg
from understudy.pages.sections.section_words import known_words, styled, titles
from understudy.summaries import counted, number, percent, rhat_number, shown, whole
from understudy.verdict.thresholds import Thresholds

__all__ = ["convergence_section", "settings_section"]

READING_CHAINS = (
    "All chains should cover the same range, with rank bars level with the dashed line. R-hat "
    "compares the chains and should be close to 1. The effective sample size (ESS) is the number "
    "of independent draws that the draws are worth."
)
JUDGED = {
    True: "Judged: what reaches the files",
    False: "Only shown: numbers about the model that reach no file",
}
READING_SETS = (
    "Does it matter which chain a set comes from? The last column is the probability of "
    "differences at least this large if it does not (analysis of variance; * small, allowing for "
    "the number of rows).{power} Sets of a chain that depend on each other make the probabilities "
    "too small. The verdict does not use this table."
)
GAP = 2.0  # standard deviations of a set, for which the power of the comparison is given


def convergence_section(findings: Findings) -> Section:
    """Show whether the chains have converged."""
    blocks: list[Block] = [Paragraph(READING_CHAINS)]
    for index, (synthesizer, style) in enumerate(styled(findings)):
        chains = synthesizer.convergence
        if chains.quantities:
            inside = _convergence(synthesizer, style, f"chains-{index}")
            blocks.append(Fold(_in_one_line(synthesizer), inside))
        else:
            blocks.append(Paragraph(f"{shown(synthesizer.title)}: no chains."))
    return Section(
        "convergence", "Appendix: convergence of the chains", blocks, short="Convergence"
    )


def _in_one_line(synthesizer: SynthesizerFindings) -> str:
    """Say how many quantities miss their targets."""
    chains, title = synthesizer.convergence, shown(synthesizer.title)
    if chains.converged:
        return f"{title}: converged; all {chains.n_judged:,} quantities meet their targets"
    return (
        f"{title}: {chains.n_failed:,} of {chains.n_judged:,} quantities miss a target; worst "
        f"R-hat {rhat_number(chains.worst_rhat)}"
    )


def _convergence(synthesizer: SynthesizerFindings, style: SeriesStyle, key: str) -> list[Block]:
    chains, title = synthesizer.convergence, shown(synthesizer.title)
    table = Table(
        f"Convergence of {title}",
        ["Quantity", "R-hat", "ESS, bulk", "ESS, tail", "Converged"],
        _quantity_rows(chains),
        text_columns=(0, 4),
    )
    figures = [
        *(
            trace_svg(trace, style, f"{key}-trace-{index}")
            for index, trace in enumerate(chains.traces)
        ),
        rhat_svg(chains, style, f"{key}-rhat"),
    ]
    remarks = [Paragraph(remark, "remark") for remark in _remarks(synthesizer, chains)]
    drawn = [Figure(svg) for svg in figures if svg is not None]
    return [*([Figures(drawn)] if drawn else []), *remarks, table, *_measured_by_chain(synthesizer)]


def _quantity_rows(chains: Convergence) -> list[list[Cell | str]]:
    """List what is judged, because it reaches the files, and then what is only shown."""
    rows: list[list[Cell | str]] = []
    for judged, heading in JUDGED.items():
        quantities = [row for row in chains.quantities if row.judged == judged]
        rows += [[heading]] if quantities else []
        rows += [
            [
                row.quantity.replace("_", " "),
                rhat_cell(row.rhat),
                *(
                    number_cell(None if ess is None else round(ess))
                    for ess in (row.ess_bulk, row.ess_tail)
                ),
                yes_cell(row.converged),
            ]
            for row in quantities
        ]
    return rows


def _measured_by_chain(synthesizer: SynthesizerFindings) -> list[Table]:
    """Say whether the chains' own sets measure alike, where there are enough of them to tell."""
    chains = synthesizer.convergence.set_chains
    compared = [
        (words, comparison)
        for words, spread in _set_measures(synthesizer)
        if (comparison := by_chain(spread.values, chains)) is not None
    ]
    if not compared:
        return []
    n_chains = len(compared[0][1].means)
    return [
        Table(
            f"Values on the sets of each chain of {shown(synthesizer.title)}",
            [
                "Measure, mean over sets",
                *(f"Chain {chain + 1}" for chain in range(n_chains)),
                "Standard deviation of a set",
                "Probability",
            ],
            [
                [
                    words,
                    *(number_cell(mean) for mean in comparison.means),
                    number_cell(comparison.spread),
                    _chance_cell(comparison, len(compared)),
                ]
                for words, comparison in compared
            ],
            note=READING_SETS.format(power=_power_words(len(chains), n_chains, len(compared))),
        )
    ]


def _power_words(n_sets: int, n_chains: int, n_rows: int) -> str:
    """Say how likely it is that a difference is noticed, at the level that is used."""
    if n_sets % n_chains or n_chains % 2:
        return ""
    chance = power(n_sets, n_chains, GAP, RARE / n_rows)
    return (
        f" If half of the chains lay {GAP:g} standard deviations of a set from the other half, a "
        f"row would show it with probability {chance:.2f}."
    )


def _set_measures(synthesizer: SynthesizerFindings) -> list[tuple[str, SpreadFindings]]:
    """Measures that every set has a value of, in words."""
    tables = synthesizer.utility.tables
    measures = [
        (f"deviation of tables of {order} {'variable' if order == 1 else 'variables'}", spread)
        for order, spread in zip(tables.orders, tables.deviation, strict=True)
    ]
    measures += [
        (f"expected match risk, {known_words(intruder.known) or 'nothing'} known", spread)
        for intruder in synthesizer.risk.identification
        if (spread := intruder.measures.get("expected_match_risk")) is not None
    ]
    if synthesizer.risk.attribute is not None:
        measures.append(("labels that are true", synthesizer.risk.attribute.matches))
    return measures


def _chance_cell(comparison: ByChain, n_rows: int) -> Cell:
    text = chance_in_words(comparison.chance)
    return Cell(f"{text} *" if comparison.chance < RARE / n_rows else text, sort=comparison.chance)


def _remarks(synthesizer: SynthesizerFindings, chains: Convergence) -> list[str]:
    remarks = [
        f"{counted(chains.chains, 'chain')} of {chains.draws:,} kept draws, "
        f"{chains.sweeps_per_draw} "
        f"{'sweep' if chains.sweeps_per_draw == 1 else 'sweeps'} per draw after "
        f"{chains.warmup_sweeps:,} sweeps of warm-up. Targets: R-hat below "
        f"{number(chains.rhat_target)}, effective sample size at least {number(chains.ess_target)}."
    ]
    if chains.n_margins:
        missed = f"{chains.n_margins_failed:,} of {chains.n_margins:,}"
        remarks.append(f"Margins that miss a target: {missed}.")
    if chains.n_cells:
        failed = f"{chains.n_cells_failed:,} of {chains.n_cells:,}"
        share = percent(chains.n_cells_failed / chains.n_cells)
        remarks.append(f"Label probabilities that miss a target: {failed} ({share}).")
    if chains.spacing is None:
        remarks.append(f"The {synthesizer.m} sets come from different chains.")
    elif chains.autocorrelation_time is not None:
        enough = chains.spacing >= chains.autocorrelation_time
        remarks.append(
            f"Neighbouring sets of a chain are {number(chains.spacing)} draws apart. The slowest "
            f"quantity needs about {number(chains.autocorrelation_time)} draws for an independent "
            f"one, so the sets are {'independent' if enough else 'not quite independent'}."
        )
    return remarks + [shown(note) for note in synthesizer.notes]


def settings_section(findings: Findings, thresholds: Thresholds) -> Section:
    """Everything that is needed to repeat the study; internal."""
    every = findings.synthesizers
    names = sorted({name for synthesizer in every for name in synthesizer.settings})
    seed = "not fixed" if findings.seed is None else str(findings.seed)
    tables = [
        Table(
            "Settings of the synthesizers",
            ["Setting", *titles(findings)],
            [
                ["sets", *(str(synthesizer.m) for synthesizer in every)],
                *(
                    [
                        [
                            "imputations",
                            *(str(synthesizer.imputations or "–") for synthesizer in every),
                        ]
                    ]
                    if any(synthesizer.imputations for synthesizer in every)
                    else []
                ),
                *(
                    [name, *(synthesizer.settings.get(name, "–") for synthesizer in every)]
                    for name in names
                ),
            ],
            text_columns=range(len(every) + 1),
            folded=True,
        ),
        Table(
            "Variables",
            ["Variable", "Role", "Levels", "Description"],
            [
                [
                    name_cell(variable.name),
                    variable.role,
                    number_cell(len(variable.levels)),
                    variable.description or "–",
                ]
                for variable in findings.data.variables
            ],
            text_columns=(0, 1, 3),
            folded=True,
        ),
        Table(
            "Versions and origins",
            ["Item", "Value"],
            [
                *([name, version] for name, version in sorted(findings.versions.items())),
                ["seed (never publish it)", seed],
                ["digest of the data", findings.data_fingerprint],
            ],
            text_columns=(0, 1),
            folded=True,
        ),
        *_digests(findings),
        Table(
            "Thresholds of the verdict",
            ["Limit", "Value"],
            [
                [name.replace("_", " "), _limit(value)]
                for name, value in thresholds.model_dump().items()
            ],
            folded=True,
        ),
    ]
    blocks = topic(
        "The same file, plan, versions and seed give the same bytes. Anyone who knows the seed can "
        "redraw the sets: keep it internal.",
        tables=tables,
    )
    return Section("settings", "Appendix: settings, versions and seeds", blocks, short="Settings")


def _digests(findings: Findings) -> list[Table]:
    rows = [
        [f"{shown(name)}, set {index}", digest]
        for name, digests in sorted(findings.set_digests.items())
        for index, digest in enumerate(digests, start=1)
    ]
    caption = "Digests of the synthetic sets that were judged"
    header = ["Set", "BLAKE2b-256"]
    return [Table(caption, header, rows, text_columns=(0, 1), folded=True)] if rows else []


def _limit(value: object) -> Cell:
    if isinstance(value, bool):
        return Cell("yes" if value else "no")
    limit = float(str(value))
    return Cell(whole(limit) if limit.is_integer() else number(limit), sort=limit)
