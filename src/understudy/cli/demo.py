"""``understudy demo``: everything the program can do so far, on the bundled data."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from understudy.cli.levels import level_rows, risk_levels
from understudy.cli.output import fitting_progress, paragraph, say, table
from understudy.errors import ExitCode

if TYPE_CHECKING:
    from understudy import Microdata
    from understudy.synthesis.dpmpm import DPMPMFit

__all__ = ["demo"]

INTRUDERS = (("gender",), ("gender", "age"))
SLOW = ("concentration", "occupied_classes", "largest_class_share", "log_likelihood")


def demo(*, seed: int | None = None, sets: int = 20) -> ExitCode:
    """Show the program at work on the bundled sample, in which nobody real is.

    Parameters
    ----------
    seed
        Makes the figures repeatable.
    sets
        How many synthetic sets to draw.
    """
    import understudy as us

    data = us.load_ce_like()
    _show_data(data)
    say()
    say("1  What the data themselves give away, whatever the synthesizer (exact)")
    levels: dict[str, tuple[float, float]] = {}
    for known in INTRUDERS:
        levels |= risk_levels(data, known)
    say(table(("", "Min", "Max"), level_rows(levels)))
    say()
    start = time.perf_counter()
    with fitting_progress() as progress:
        fit = us.DPMPM().fit(data, seed=seed, progress=progress)
    say(f"2  A DPMPM fitted to them: 4 chains from far apart, {time.perf_counter() - start:.0f} s")
    _show_convergence(fit)
    synthetic = fit.synthesize(sets, seed=seed)
    say()
    say(f"3  What an intruder learns from {sets} synthetic sets")
    for known in INTRUDERS:
        say(str(us.identification_risk(data, synthetic, known=known)))
    say(str(us.attribute_risk(data, synthetic)))
    say()
    say("4  What an analyst keeps")
    say(str(us.table_utility(data, synthetic, seed=seed)))
    say()
    say(str(us.regression_utility(data, synthetic, seed=seed)))
    return ExitCode.DONE if fit.converged else ExitCode.NOT_CONVERGED


def _show_data(data: Microdata) -> None:
    say(
        paragraph(
            "The bundled sample stands for a confidential survey: 6,208 invented households with "
            "gender, income and age, which may be published, and the county, which may not."
        )
    )
    say()
    rows = [(one.name, one.role, f"{one.n_levels}", one.description) for one in data.variables]
    say(table(("variable", "part", "levels", "what it is"), rows, left=4))
    say()
    sizes = data.patterns.sizes
    say(
        paragraph(
            f"{data.n_records:,} records, {len(sizes)} patterns of the kept variables, "
            f"{data.n_combinations:,} combinations with the county; the smallest pattern has "
            f"{int(sizes.min())} records."
        )
    )


def _show_convergence(fit: DPMPMFit) -> None:
    columns = ("quantity", "rhat", "ess_bulk", "ess_tail")
    found = fit.diagnostics(most_cells=None).select(columns).rows()
    judged = [row for row in found if row[0] in SLOW]
    cells = [row[1:] for row in found if row[0] not in SLOW]
    largest, bulk, tail = zip(*cells, strict=True)
    worst = (max(largest), min(bulk), min(tail))
    judged.append((f"worst of {len(cells):,} label probabilities", *worst))
    rows = [
        (name.replace("_", " "), f"{rhat:.3f}", f"{bulk:,.0f}", f"{tail:,.0f}")
        for name, rhat, bulk, tail in judged
    ]
    say(table(("", "R-hat", "bulk ESS", "tail ESS"), rows))
    say("Converged." if fit.converged else "NOT CONVERGED: nothing below should be relied on.")
