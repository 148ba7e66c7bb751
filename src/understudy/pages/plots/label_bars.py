"""The label as plain bars, original beside synthetic, and its two-way tables as a heat map."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from understudy.findings.label_counts import FAR, chance_deviations
from understudy.findings.label_schema import LabelCounts, PairCounts
from understudy.pages.plots.canvas import SeriesStyle
from understudy.pages.plots.marks import (
    LETTER,
    WIDTH,
    hand_drawn,
    line,
    nice_ticks,
    rectangle,
    text,
    text_width,
    value,
)
from understudy.summaries import short, shown, whole

__all__ = ["LESS", "MORE", "bar_figures", "heat_figures"]

ROWS = 15  # of one drawing of bars
ROW, BAR = 21, 7  # pixels: of a label, and of one of its two bars
LONGEST = 15  # letters of a level
CELL, HIGH = 24, 17  # pixels of a cell of the heat map
GAP = 12  # between variables
MORE, LESS = "max", "min"  # colours of too many and too few records
STRONGEST = 4.0  # standard deviations that have the full colour


def bar_figures(
    counts: LabelCounts, names: Sequence[str], style: SeriesStyle, name: str
) -> list[str]:
    """Draw the most frequent levels, in drawings of even length and on one scale."""
    if not names:
        return []
    columns = -(-len(names) // ROWS)
    length = -(-len(names) // columns)
    top = max(*counts.original, *counts.highest, 1)
    left = 8 + max(text_width(short(name, LONGEST)) for name in names)
    return [
        _bars(counts, names, slice(start, start + length), style, (left, top), f"{name}-{start}")
        for start in range(0, len(names), length)
    ]


def _bars(
    counts: LabelCounts,
    names: Sequence[str],
    part: slice,
    style: SeriesStyle,
    scale: tuple[float, float],  # left end of the bars in pixels, and the largest count
    name: str,
) -> str:
    left, top = scale
    across = (WIDTH - left - 14) / top
    parts, base = [], 0.0
    for row, index in enumerate(range(*part.indices(len(names)))):
        y = 4 + row * ROW
        original, mean = counts.original[index], counts.synthetic[index]
        lowest, highest = counts.lowest[index], counts.highest[index]
        words = (
            f"{names[index]}: original {whole(original)}; synthetic {mean:,.1f} "
            f"({whole(lowest)} to {whole(highest)} over the sets)"
        )
        middle = y + 1.5 * BAR + 1
        parts.append(
            value(
                words,
                rectangle(0, y, WIDTH, ROW, "paper", 0.0),
                text(left - 6, y + 12, short(names[index], LONGEST), "end"),
                rectangle(left, y, original * across, BAR, "original"),
                rectangle(left, y + BAR + 1, mean * across, BAR, style.variable),
                *(
                    line(left + lowest * across, middle, left + highest * across, middle, *stroke)
                    for stroke in (("paper", 3.4), ("ink", 1.4))
                ),
            )
        )
        base = y + ROW
    parts.append(line(left, 2, left, base - 2, "soft"))
    parts += [
        text(left + tick * across, base + 12, whole(tick), "middle", "soft")
        for tick in nice_ticks(0, top, 4)
        if float(tick).is_integer()
    ]
    parts.append(text((left + WIDTH) / 2, base + 29, "records", "middle", "soft"))
    description = (
        f"The most frequent is {names[0]}: {whole(counts.original[0])} records in the original, "
        f"{counts.synthetic[0]:,.1f} in a synthetic set of {style.title}."
    )
    return hand_drawn(name, f"Records by {counts.name}", description, base + 34, parts)


@dataclass(frozen=True)
class HeatPart:
    """Some columns of one pair of variables."""

    pair: PairCounts
    columns: range
    names: Sequence[str]  # of these columns


def heat_figures(
    pairs: Sequence[tuple[PairCounts, Sequence[str], Sequence[str]]], n_sets: int, name: str
) -> list[str]:
    """Draw the pairs of one synthesized variable with others, as many columns as fit in each.

    With each pair come the names of its levels, and of the other variable's; counts are means over
    `n_sets` sets.
    """
    names = max((listed for _, listed, _ in pairs), key=len, default=[])
    left = 8 + max((text_width(short(name, LONGEST)) for name in names), default=0.0)
    most_columns = max(1, int((WIDTH - left) // CELL))
    return [
        _heat(parts, names, left, n_sets, f"{name}-{index}")
        for index, parts in enumerate(_packed(pairs, most_columns, GAP / CELL))
    ]


def _packed(
    pairs: Sequence[tuple[PairCounts, Sequence[str], Sequence[str]]], most_columns: int, gap: float
) -> Iterator[list[HeatPart]]:
    """Put columns together so that they fit beside each other."""
    drawing: list[HeatPart] = []
    used = 0.0
    for pair, _, others in pairs:
        for start in range(0, len(others), most_columns):
            columns = range(start, min(start + most_columns, len(others)))
            if drawing and used + gap + len(columns) > most_columns:
                yield drawing
                drawing, used = [], 0.0
            used += (gap if drawing else 0.0) + len(columns)
            drawing.append(HeatPart(pair, columns, [others[column] for column in columns]))
    if drawing:
        yield drawing


def _heat(
    drawn: Sequence[HeatPart], names: Sequence[str], left: float, n_sets: int, name: str
) -> str:
    longest = max(text_width(short(name, LONGEST)) for part in drawn for name in part.names)
    turned = longest > CELL - 2
    top = 20 + (longest + 6 if turned else 16)
    parts = [text(left - 6, top + HIGH * row + 13, short(name, LONGEST), "end")
             for row, name in enumerate(names)]  # fmt: skip
    x, far = left, 0
    for part in drawn:
        pair = part.pair
        wide = CELL * len(part.columns)
        parts.append(text(x, 12, short(pair.other, max(3, int(wide / LETTER))), kind="strong"))
        deviations = chance_deviations(pair.original, pair.synthetic, n_sets)
        for column, words in zip(part.columns, part.names, strict=True):
            middle = x + CELL / 2
            parts.append(
                text(middle + 4, top - 5, short(words, LONGEST), kind="soft", turned=True)
                if turned
                else text(middle, top - 5, words, "middle", "soft")
            )
            for row, level in enumerate(names):
                deviation = float(deviations[row, column])
                far += abs(deviation) > FAR
                parts.append(
                    value(
                        f"{level}, {pair.other} {words}: original "
                        f"{whole(pair.original[row][column])}, synthetic "
                        f"{pair.synthetic[row][column]:,.1f}; {_signed(deviation)} s.d.",
                        *_cell(x, top + HIGH * row, deviation),
                    )
                )
            x += CELL
        x += GAP
    others = ", ".join(shown(part.pair.other) for part in drawn)
    description = (
        f"{len(names)} levels of {drawn[0].pair.name} by {others}; {far} of the cells that are "
        f"drawn lie further off than {FAR:g} standard deviations of chance."
    )
    title = f"Deviations of {drawn[0].pair.name} by {others}"
    return hand_drawn(name, title, description, top + HIGH * len(names) + 4, parts)


def _cell(x: float, y: float, deviation: float) -> list[str]:
    strength = min(abs(deviation), STRONGEST) / STRONGEST
    colour = MORE if deviation > 0 else LESS
    parts = [rectangle(x, y, CELL - 1, HIGH - 1, "faint")]
    if strength > 0.02:
        parts.append(rectangle(x, y, CELL - 1, HIGH - 1, colour, 0.9 * strength))
    if abs(deviation) > FAR:
        sign = "+" if deviation > 0 else "−"
        parts.append(text(x + CELL / 2, y + 13, sign, "middle", "paper"))
    return parts


def _signed(deviation: float) -> str:
    return f"{round(deviation, 1) + 0.0:+.1f}".replace("-", "−")
