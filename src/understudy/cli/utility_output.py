"""What an analyst keeps of files, in ``understudy evaluate``."""

from __future__ import annotations

from typing import Any

from understudy.cli.output import say
from understudy.utility.regression.regression_utility import RegressionUtility
from understudy.utility.tables import TableUtility
from understudy.utility.within_pattern import WithinPatternUtility

__all__ = ["show_utility", "utility_json"]


def show_utility(
    tables: TableUtility,
    patterns: WithinPatternUtility | None,
    regression: RegressionUtility | None,
) -> None:
    """Print it all."""
    say()
    say("What an analyst keeps: deviations of tables, beside what chance alone explains")
    say(str(tables))
    if patterns is not None:
        say()
        say(str(patterns))
    if regression is not None:
        say()
        say(str(regression))


def utility_json(
    tables: TableUtility,
    patterns: WithinPatternUtility | None,
    regression: RegressionUtility | None,
) -> dict[str, Any]:
    """Give the numbers that a program reads."""
    content: dict[str, Any] = {
        "tables": {
            f"{order}-way": {
                "deviation": tables.deviation[order],
                "noise_floor": tables.noise_floor[order],
                "truth_floor": tables.truth_floor[order],
                "lowest": tables.spread[order].minimum,
                "highest": tables.spread[order].maximum,
            }
            for order in tables.deviation
        },
    }
    if patterns is not None:
        content["within_pattern"] = {
            "patterns": len(patterns.distance),
            "above_noise_floor": int((patterns.distance > patterns.noise_floor).sum()),
            "above_truth_floor": int((patterns.distance > patterns.truth_floor).sum()),
            "far_above_truth_floor": int((patterns.spreads_above > 3).sum()),
            "mean_distance": float(patterns.distance.mean()),
            "mean_noise_floor": float(patterns.noise_floor.mean()),
            "mean_truth_floor": float(patterns.truth_floor.mean()),
        }
    if regression is not None:
        content["regression"] = {
            "formula": regression.formula,
            "family": regression.family,
            "mean_interval_overlap": regression.mean_overlap,
        }
    return content
