"""Chapters on how the figures came about: convergence, and settings."""

from __future__ import annotations

from understudy.findings.by_chain import RARE, ByChain, by_chain, chance_in_words
from understudy.findings.schema import Convergence, Findings, Spread, SynthesizerFindings
from understudy.pages.blocks import (
    Block,
    Cell,
    Column,
    Figure,
    Section,
    Table,
    name_cell,
    number_cell,
    rhat_cell,
    text_cell,
    yes_cell,
)
from understudy.pages.plots.canvas import SeriesStyle, series_styles
from understudy.pages.plots.traces import rhat_svg, trace_svg
from understudy.summaries import number, percent, shown, whole
from understudy.verdict.verdict import Thresholds

__all__ = ["convergence_section", "settings_section"]

READING_CHAINS = (
    "All chains should look like one: traces that overlap and wander over the same range, and rank "
    "bars of every chain level with the dashed line. R-hat compares chains with each other and "
    "should be close to 1; effective sample sizes (ESS) say how many independent draws the draws "
    "are worth."
)

READING_SETS = (
    "If the chains stand for the same file, only chance makes the means of their sets differ: the "
    "last column is the chance of differences as large as these (analysis of variance; * small, "
    "allowing for the number of rows). It can show that it matters which chain a set comes from, "
    "not that it does not: with a few sets a chain, means that lie up to about two spreads of a "
    "set apart can go unseen. Sets of a chain that are not independent make chances too small. "
    "Where chains have not met, all sets together weigh the places by the number of chains that "
    "ended there. The verdict does not look at this table."
)


def convergence_section(findings: Findings) -> Section:
    """Show whether the chains have converged."""
    return Section(
        key="convergence",
        title="Convergence of the chains",
        blocks=[
            _convergence_block(one, look, f"chains-{place}", place == 0)
            for place, (one, look) in enumerate(
                zip(findings.synthesizers, series_styles(findings), strict=True)
            )
        ],
    )


def _convergence_block(one: SynthesizerFindings, look: SeriesStyle, key: str, first: bool) -> Block:
    found = one.convergence
    drawn = [
        trace_svg(trace, look, f"{key}-trace-{place}") for place, trace in enumerate(found.traces)
    ]
    rhats = rhat_svg(found, look, f"{key}-rhat")
    return Block(
        title=shown(one.title),
        reading=READING_CHAINS if first else "As above.",
        figures=[Figure(svg) for svg in (*drawn, rhats) if svg is not None],
        affected=() if found.converged else (shown(one.title),),
        remarks=_remarks(one, found),
        tables=[
            Table(
                caption=f"Convergence of {shown(one.title)}",
                columns=[
                    Column("Quantity", numeric=False),
                    Column("R-hat"),
                    Column("ESS, bulk"),
                    Column("ESS, tail"),
                    Column("Converged", numeric=False),
                ],
                rows=[
                    [
                        text_cell(row.quantity.replace("_", " ")),
                        rhat_cell(row.rhat),
                        number_cell(None if row.ess_bulk is None else round(row.ess_bulk)),
                        number_cell(None if row.ess_tail is None else round(row.ess_tail)),
                        yes_cell(row.converged),
                    ]
                    for row in found.quantities
                ],
            ),
            *_measured_by_chain(one),
        ],
    )


def _measured_by_chain(one: SynthesizerFindings) -> list[Table]:
    """Say whether the chains' own sets measure alike, where there are enough of them to tell."""
    chains = one.convergence.set_chains
    rows = [(words, by_chain(spread.values, chains)) for words, spread in _set_measures(one)]
    compared = [(words, found) for words, found in rows if found is not None]
    if not compared:
        return []
    places = range(len(compared[0][1].means))
    return [
        Table(
            caption=f"What is measured on the sets of each chain of {shown(one.title)}",
            columns=[
                Column("Measure, mean over sets", numeric=False),
                *(Column(f"Chain {place + 1}") for place in places),
                Column("Spread of a set", explained="standard deviation of the sets of one chain"),
                Column("Chance", explained="of differences as large as these, were all sets alike"),
            ],
            rows=[
                [
                    text_cell(words),
                    *(number_cell(found.means[place]) for place in places),
                    number_cell(found.spread),
                    _chance_cell(found, len(compared)),
                ]
                for words, found in compared
            ],
            note=READING_SETS,
        )
    ]


def _set_measures(one: SynthesizerFindings) -> list[tuple[str, Spread]]:
    """Measures that every set has a figure of, in words."""
    tables = one.utility.tables
    found = [
        (f"deviation of tables of {order} {'variable' if order == 1 else 'variables'}", spread)
        for order, spread in zip(tables.orders, tables.deviation, strict=True)
    ]
    found += [
        (f"expected match risk, {', '.join(map(shown, intruder.known)) or 'nothing'} known", spread)
        for intruder in one.risk.identification
        if (spread := intruder.measures.get("expected_match_risk")) is not None
    ]
    if one.risk.attribute is not None:
        found.append(("labels that are true", one.risk.attribute.matches))
    return found


def _chance_cell(found: ByChain, n_rows: int) -> Cell:
    text = chance_in_words(found.chance)
    return Cell(f"{text} *" if found.chance < RARE / n_rows else text, sort=found.chance)


def _remarks(one: SynthesizerFindings, found: Convergence) -> list[str]:
    if not found.quantities:
        return ["This synthesizer has nothing that has to converge."]
    remarks = [
        f"{found.chains} chains of {found.draws:,} kept draws, {found.sweeps_per_draw} "
        f"{'sweep' if found.sweeps_per_draw == 1 else 'sweeps'} a draw after "
        f"{found.warmup_sweeps:,} sweeps of warm-up. Targets: R-hat below "
        f"{number(found.rhat_target)}, effective sample size at least {number(found.ess_target)}."
    ]
    if found.n_cells:
        failed = f"{found.n_cells_failed:,} of {found.n_cells:,}"
        share = percent(found.n_cells_failed / found.n_cells)
        remarks.append(f"Label probabilities that miss a target: {failed} judged ({share}).")
    if found.spacing is None:
        remarks.append(f"The {one.m} sets come from different chains.")
    elif found.autocorrelation_time is not None:
        enough = found.spacing >= found.autocorrelation_time
        remarks.append(
            f"Neighbouring sets of a chain lie {number(found.spacing)} draws apart; about "
            f"{number(found.autocorrelation_time)} draws of the slowest quantity make an "
            f"independent one, so the sets {'count' if enough else 'do not quite count'} as "
            "independent."
        )
    return remarks + [shown(note) for note in one.notes]


def settings_section(findings: Findings, thresholds: Thresholds | None) -> Section:
    """Everything that is needed to do it again; internal."""
    names = sorted({name for one in findings.synthesizers for name in one.settings})
    columns = [Column("Setting", numeric=False)]
    columns += [Column(shown(one.title), numeric=False) for one in findings.synthesizers]
    rows: list[list[Cell]] = [
        [text_cell("sets"), *(text_cell(one.m) for one in findings.synthesizers)]
    ]
    rows += [
        [
            text_cell(name),
            *(text_cell(one.settings.get(name, "–")) for one in findings.synthesizers),
        ]
        for name in names
    ]
    tables = [
        Table("Settings of the synthesizers", columns, rows),
        _variables(findings),
        Table(
            "Versions and origins",
            [Column("What", numeric=False), Column("Value", numeric=False)],
            [
                *(
                    [text_cell(name), text_cell(version)]
                    for name, version in sorted(findings.versions.items())
                ),
                [
                    text_cell("seed (never to be published)"),
                    text_cell("not fixed" if findings.seed is None else findings.seed),
                ],
                [text_cell("digest of the data"), text_cell(findings.data_fingerprint)],
            ],
        ),
        *_digests(findings),
    ]
    if thresholds is not None:
        tables.append(_thresholds(thresholds))
    return Section(
        key="settings",
        title="Settings, versions and seeds",
        blocks=[
            Block(
                reading="With the same file, plan, versions and seed the study gives the same "
                "bytes. Who knows the seed can redraw the sets: it stays inside.",
                tables=tables,
            )
        ],
    )


def _variables(findings: Findings) -> Table:
    return Table(
        "Variables",
        [
            Column("Variable", numeric=False),
            Column("Part", numeric=False),
            Column("Levels"),
            Column("What it is", numeric=False),
        ],
        [
            [
                name_cell(one.name),
                text_cell(one.role),
                number_cell(len(one.levels)),
                text_cell(one.description or "–"),
            ]
            for one in findings.data.variables
        ],
    )


def _digests(findings: Findings) -> list[Table]:
    rows = [
        [text_cell(f"{shown(name)}, set {place + 1}"), text_cell(digest)]
        for name, digests in sorted(findings.set_digests.items())
        for place, digest in enumerate(digests)
    ]
    if not rows:
        return []
    return [
        Table(
            "Digests of the synthetic sets that were judged",
            [Column("Set", numeric=False), Column("BLAKE2b-256", numeric=False)],
            rows,
            folded=True,
        )
    ]


def _thresholds(thresholds: Thresholds) -> Table:
    return Table(
        "Thresholds of the verdict",
        [Column("Limit", numeric=False), Column("Value")],
        [
            [text_cell(name.replace("_", " ")), _limit(value)]
            for name, value in thresholds.model_dump().items()
        ],
        folded=True,
    )


def _limit(value: object) -> Cell:
    if isinstance(value, bool):
        return Cell("yes" if value else "no")
    given = float(str(value))
    return Cell(whole(given) if given.is_integer() else number(given), sort=given)
