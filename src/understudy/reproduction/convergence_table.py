"""Whether the chains behind the page have converged: those that have not first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from understudy.pages.blocks import Block, Heading, Paragraph, Table
from understudy.reproduction.chains_apart import apart_blocks
from understudy.reproduction.configurations import AREAL, FITS, FULL

__all__ = ["convergence_blocks"]


def convergence_blocks(results: dict[str, Any]) -> list[Block]:
    """Set the fits, those that have not converged first, and what it means for the page."""
    fits_of: dict[str, list[tuple[int, dict[str, Any]]]] = {}  # (population, fit) by key
    for number, population in enumerate(results["populations"]):
        for key, fit in population["fits"].items():
            fits_of.setdefault(key, []).append((number, fit))
    rows: list[Sequence[str]] = []
    for failed, words in ((True, "has not converged"), (False, "has converged")):
        group = [
            _row(key, those)
            for key, fits in fits_of.items()
            if (those := [fit for fit in fits if (fit[1]["labels"]["failed"] > 0) is failed])
        ]
        if group:
            rows += [(f"{'Some' if failed else 'Every'} label probability {words}",), *group]
    rests = [fit["rest"] for fits in fits_of.values() for _, fit in fits]
    missed = [rest for rest in rests if rest["failed"] > 0]
    return [
        Heading("Have the chains converged?"),
        Paragraph(
            """
            The targets are an R-hat below 1.01 and at least 400 effective draws. Sets of the
            DP-areal, and of the DPMPM with class draw kept, are drawn from the label probabilities,
            so every one of them is judged. The rest (numbers of occupied classes or clusters,
            concentration, precision of log rates, log-likelihood) mixes more slowly: where it has
            not converged, or a label probability has an R-hat above 1.01, do not rely on the last
            digit; above 1.05, rely on values only as far as the comparison by chain below allows.
            Population 0 is the bundled one.
            """
        ),
        Table(
            "Every fit behind this page",
            (
                "fit", "populations", "sweeps a chain", "label probabilities that failed",
                "their worst R-hat", "least ESS", "fits whose rest failed", "its worst R-hat",
                "least ESS",
            ),
            rows,
            text_columns=(0, 1),
            file="fits",
        ),
        Paragraph(f"The rest has not converged in {len(missed)} of {len(rests)} fits."),
        *_how_long(results),
        *apart_blocks(results),
    ]  # fmt: skip


def _row(key: str, fits: Sequence[tuple[int, dict[str, Any]]]) -> tuple[str, ...]:
    """Write one line for fits of the same kind."""
    lengths = [fit["lengths"] for _, fit in fits]
    sweeps = [length["warmup"] + length["draws"] * length["thin"] for length in lengths]
    labels, rest = ([fit[part] for _, fit in fits] for part in ("labels", "rest"))
    failed = sorted({part["failed"] for part in labels})
    return (
        FITS[key].title,
        ", ".join(str(number) for number, _ in fits),
        _ends(sorted(sweeps)),
        f"{_ends(failed)} of {labels[0]['quantities']:,}" if failed[-1] else "none",
        *_worst(labels),
        f"{sum(part['failed'] > 0 for part in rest)} of {len(fits)}",
        *_worst(rest),
    )


def _ends(values: Sequence[int]) -> str:
    return "–".join(f"{value:,}" for value in sorted({values[0], values[-1]}))


def _worst(parts: Sequence[dict[str, Any]]) -> tuple[str, str]:
    highest = max(part["worst_rhat"] for part in parts)
    return f"{highest:.4f}", f"{min(part['least_ess'] for part in parts):,.0f}"


def _how_long(results: dict[str, Any]) -> list[Block]:
    if results["scale"] != FULL.name:
        return []
    planned = FULL.length(AREAL, population=1)
    warmup, thin = planned["warmup"], planned["thin"]
    first, most = (warmup + planned[name] * thin for name in ("draws", "most_draws"))
    return [
        Paragraph(
            f"""
            On the other populations the chains of the DP-areal are judged after {first:,} sweeps
            and every {first - warmup:,} further ones, and stop when all label probabilities have
            converged, or give up after {most:,}. Chains that are checked often pass sooner, so a
            worst R-hat just below 1.01 is borderline.
            """
        )
    ]
