"""``understudy demo``: everything the program can do so far, on the bundled data."""

from __future__ import annotations

from understudy.cli.levels import level_rows, risk_levels
from understudy.cli.output import paragraph, say, table
from understudy.errors import ExitCode

__all__ = ["demo"]


def demo() -> ExitCode:
    """Show the program at work on the bundled sample, in which nobody real is."""
    import understudy as us

    data = us.load_ce_like()
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
    say()
    say("Risk levels of the data themselves, whatever the synthesizer (exact)")
    levels = {**risk_levels(data, ("gender",)), **risk_levels(data, ("gender", "age"))}
    say(table(("", "Min", "Max"), level_rows(levels)))
    return ExitCode.DONE
