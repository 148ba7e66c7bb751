"""The public plots: drawn from findings in which nothing exact, small or named is left.

The plots are drawn by `understudy.pages`. It gets a copy of the findings from which everything
internal was removed beforehand, and in which every number is one that the page prints. What own
records give away is not drawn: it concerns so few people that there is no scale for it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from understudy.errors import OutputError
from understudy.findings.schema import (
    Convergence,
    DataFindings,
    Findings,
    RiskFindings,
    SpreadFindings,
    SynthesizerFindings,
    Tables,
    UtilityFindings,
    WithinPattern,
)
from understudy.publishing.public_summary import BASELINES, model_words, n_tables
from understudy.publishing.random_rounding import Printed
from understudy.synthesis.registry import MODELS

__all__ = ["public_findings", "public_pictures"]

FILE_NAME = re.compile(r"[a-z0-9-]{1,80}\.png")


def public_pictures(
    findings: Findings, released: SynthesizerFindings, numbers: Mapping[str, Printed]
) -> dict[str, bytes]:
    """Draw the public plots of a synthesizer: PNG files without any remarks, by name.

    There is no plot where its numbers cannot be published.
    """
    from understudy.pages.plots import bare_png, public_figures

    shown = public_findings(findings, released, numbers)
    if not shown.synthesizers[0].utility.tables.orders:
        return {}
    drawn = public_figures(shown, shown.synthesizers[0].name)
    for name in drawn:
        if not FILE_NAME.fullmatch(name):
            raise OutputError(
                expected="plots with plain file names",
                came="another one",
                do="nothing was released; please report this fault",
            )
    return {name: bare_png(content) for name, content in sorted(drawn.items())}


def public_findings(
    findings: Findings, released: SynthesizerFindings, numbers: Mapping[str, Printed]
) -> Findings:
    """Make findings that hold nothing but the deviations of tables, as they are printed.

    They are made from nothing, so that what is measured one day is not public unasked: no title,
    seed, versions, digests, patterns, records, levels, labels, risks, regressions or chains, and no
    tables where their deviations cannot be published.
    """
    data = findings.data
    known = released.kind in {*MODELS, *BASELINES}
    public = SynthesizerFindings(
        name="released",
        title=model_words(released.kind)[0],
        kind=released.kind if known else "other",
        settings={},
        m=released.m,
        fully_synthetic=released.fully_synthetic,
        convergence=_no_chains(released.convergence),
        utility=_utility(findings, released.utility, numbers),
        risk=RiskFindings(identification=(), attribute=None, by_knowledge={}),
        notes=(),
    )
    return Findings(
        title="",
        data=DataFindings(
            n_records=data.n_records,
            n_dropped=0,
            n_combinations=0,
            n_labels=0,
            kept=data.kept,
            synthesized=data.synthesized,
            variables=(),
            patterns=(),
            codebook_declared=data.codebook_declared,
            codebook_reviewed=data.codebook_reviewed,
        ),
        intruders=(),
        synthesizers=(public,),
        versions={},
        seed=None,
        data_fingerprint="",
        set_digests={},
    )


def _no_chains(convergence: Convergence) -> Convergence:
    """Keep what the page says of the chains."""
    return Convergence(
        converged=convergence.converged,
        chains=convergence.chains,
        draws=0,
        warmup_sweeps=0,
        sweeps_per_draw=0,
        quantities=(),
        n_cells=0,
        n_cells_failed=0,
        cell_rhats=None,
        traces=(),
        autocorrelation_time=None,
        spacing=None,
        rhat_target=convergence.rhat_target,
        ess_target=convergence.ess_target,
    )


def _mean(value: float | None) -> SpreadFindings:
    return SpreadFindings(mean=value, minimum=None, maximum=None, standard_error=None, values=())


def _utility(
    findings: Findings, utility: UtilityFindings, numbers: Mapping[str, Printed]
) -> UtilityFindings:
    """Keep the deviations of tables that are printed together with their floors."""
    orders = tuple(
        order
        for order in utility.tables.orders
        if {f"tables {order}", f"tables floor {order}"} <= set(numbers)
    )
    # records that all tables of an order have, twice: what a share of 1 stands for
    whole = [2.0 * findings.data.n_records * n_tables(findings, order) for order in orders]
    own = [numbers[f"tables {order}"].share for order in orders]
    floor = [numbers[f"tables floor {order}"].share for order in orders]
    return UtilityFindings(
        tables=Tables(
            orders=orders,
            deviation=tuple(_mean(share * most) for share, most in zip(own, whole, strict=True)),
            noise_floor=(0.0,) * len(orders),
            truth_floor=tuple(share * most for share, most in zip(floor, whole, strict=True)),
            tables=(),
            signed=(),
            signed_floor=(),
            propensity_ratio=None,
        ),
        regressions=(),
        within=WithinPattern(
            distance=(),
            noise_floor=(),
            truth_floor=(),
            spreads_above=(),
            shares=(),
            mean_distance=0.0,
            mean_floor=0.0,
            mean_truth_floor=0.0,
            n_far=0,
        ),
    )
