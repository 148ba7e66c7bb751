"""How every drawing is made: the same size, the same few marks, colours that the page decides.

A drawing is matplotlib's SVG with real text, cut down to what a page needs: colours become CSS
variables, so that light, dark and print each have theirs; ids carry the drawing's own name; a title
and a description are put in for readers who cannot see it. No dates, no random ids: the same
findings give the same bytes.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape

from understudy.findings.schema import Findings, SynthesizerFindings
from understudy.pages.plots.marks import svg_opening
from understudy.summaries import short, shown
from understudy.synthesis.registry import MODELS

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "ALONE",
    "LIGHT",
    "WIDTH",
    "SeriesStyle",
    "drawing",
    "name_series",
    "quiet",
    "series_styles",
    "standalone_svg",
    "svg_of",
    "valued",
    "valued_strips",
]

STYLE = Path(__file__).parents[1] / "templates" / "style.css"
# The page's light colours. The paper's own is another white than matplotlib's.
LIGHT = {
    **dict(re.findall(r"--(\w+): (#\w+);", STYLE.read_text(encoding="utf-8").partition("}")[0])),
    **{name: model.colours[0] for name, model in MODELS.items()},
    "paper": "#fefefe",
}
VALUE = "value-"  # begins the id of a mark that has its numbers in words
UNSEEN = 0.002  # opacity of strips; at zero they could not be pointed at
QUOTES = {'"': "&quot;"}
DASHES: tuple[Any, ...] = ("-", (0, (4, 1.5)), (0, (1, 1.2)), (0, (5, 1.5, 1, 1.5)))
WIDTH, HEIGHT = 3.6, 2.35  # inches, of a drawing among others
ALONE = 4.7  # inches, of a drawing by itself
SIZE = 9  # points of text
LETTER, WIDE = 5.1, 7.1  # points that a letter takes, and a capital
SETTINGS: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "understudy",
    "text.parse_math": False,
    "text.usetex": False,
    "axes.formatter.use_mathtext": False,
    "axes.unicode_minus": True,
    "font.family": "DejaVu Sans",
    "font.size": SIZE,
    "axes.titlesize": SIZE,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlepad": 15,
    "axes.labelsize": SIZE,
    "axes.labelcolor": LIGHT["soft"],
    "axes.edgecolor": LIGHT["soft"],
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "savefig.facecolor": "none",
    "text.color": LIGHT["ink"],
    "xtick.color": LIGHT["soft"],
    "ytick.color": LIGHT["soft"],
    "xtick.labelsize": SIZE,
    "ytick.labelsize": SIZE,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "lines.linewidth": 1.3,
    "path.simplify": True,
}


@dataclass(frozen=True)
class SeriesStyle:
    """How one synthesizer is drawn: its colour by kind, its dashes by order among its kind."""

    name: str
    title: str
    variable: str  # of the page's style
    colour: str
    dashes: Any
    marker: str


def series_styles(findings: Findings) -> list[SeriesStyle]:
    """Give every synthesizer its colour and dashes, in the order of the findings."""
    kinds: dict[str, int] = {}
    styles = []
    for synthesizer in findings.synthesizers:
        repeat = kinds.get(synthesizer.kind, 0)
        kinds[synthesizer.kind] = repeat + 1
        styles.append(_style(synthesizer, repeat))
    return styles


def _style(synthesizer: SynthesizerFindings, repeat: int) -> SeriesStyle:
    kind = synthesizer.kind
    variable = kind if kind in MODELS else "ink"
    first = (list(MODELS).index(kind) if kind in MODELS else len(MODELS)) + 2 * repeat
    return SeriesStyle(
        name=synthesizer.name,
        title=short(synthesizer.title),
        variable=variable,
        colour=LIGHT[variable],
        dashes=DASHES[first % len(DASHES)],
        marker="osD^vP"[first % 6],
    )


@contextmanager
def quiet() -> Iterator[None]:
    """Apply the settings and none of the user's own; letters that the font lacks are no warning."""
    import matplotlib as mpl

    with mpl.rc_context(), warnings.catch_warnings():
        mpl.rcdefaults()
        mpl.rcParams.update(SETTINGS)
        warnings.filterwarnings("ignore", message="Glyph")
        warnings.filterwarnings("ignore", message="Matplotlib currently does not support")
        warnings.filterwarnings("ignore", message="Attempt")  # axes of files without any deviation
        yield


@contextmanager
def drawing(
    width: float = WIDTH, height: float = HEIGHT, rows: int = 1, columns: int = 1, **options: Any
) -> Iterator[tuple[Figure, Sequence[Axes]]]:
    """Open a figure with one or more axes, in the quiet style."""
    from matplotlib.figure import Figure as New

    with quiet():
        figure = New(figsize=(width, height), layout="constrained")
        axes = figure.subplots(rows, columns, squeeze=False, **options)
        yield figure, list(axes.reshape(-1))


def name_series(axes: Axes, names: Sequence[tuple[str, str]], above: float = 1.0) -> None:
    """Name what is drawn in one line above the axes, every name in its own colour."""
    at = 0.0
    for words, colour in names:
        axes.annotate(words, (0, above), xycoords="axes fraction", xytext=(at, 2),
                      textcoords="offset points", color=colour, va="bottom")  # fmt: skip
        at += sum(WIDE if letter.isupper() else LETTER for letter in words) + 2 * LETTER


def valued(artist: Artist, words: str) -> None:
    """Give a mark its numbers in words, which the page shows to readers who point at it."""
    artist.set_gid(VALUE + words.encode("utf-8").hex())


def valued_strips(axes: Axes, edges: Sequence[float], words: Sequence[str]) -> None:
    """Lay unseen strips over the axes, from edge to edge, that show numbers when pointed at."""
    reach = axes.get_xlim()
    for (low, high), numbers in zip(pairwise(edges), words, strict=True):
        strip = axes.axvspan(low, high, facecolor=LIGHT["paper"], alpha=UNSEEN, linewidth=0)
        valued(strip, numbers)
    axes.set_xlim(reach)


def svg_of(figure: Figure, name: str, title: str, description: str) -> str:
    """Write a figure made inside `drawing` as an SVG element, described for who cannot see it.

    No other drawing of the page has its name, a word of letters, digits and dashes.
    """
    target = io.StringIO()
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    figure.savefig(target, format="svg", metadata=nothing)
    text = target.getvalue()
    text = text[text.index("<svg") :].strip()
    for part in (
        r"<metadata>.*?</metadata>",
        r"<!--.*?-->",
        r"<defs>\s*<style.*?</style>\s*</defs>",
    ):
        text = re.sub(part, "", text, flags=re.DOTALL)
    used = set(re.findall(r'(?:url\(#|href="#)([^)"]+)', text))
    text = re.sub(r"<[^>]*>", lambda tag: _cleaned(tag.group(0), name, used), text)
    text = re.sub(r">\s*\n\s*<", "><", text)
    return _opening(text, name, title, description) + text[text.index(">") + 1 :]


def _opening(text: str, name: str, title: str, description: str) -> str:
    box = text[text.index('viewBox="') + len('viewBox="') :].split('"', 1)[0]
    width, height = (float(side) for side in box.split()[2:])
    size = f'width="{width:.0f}pt" height="{height:.0f}pt" viewBox="{box}"'
    return svg_opening(size, name, title, description)


def _cleaned(tag: str, name: str, used: set[str]) -> str:
    """Clean one tag; texts between tags are never touched."""

    def own(match: re.Match[str]) -> str:
        if match.group(1).startswith(VALUE):
            words = bytes.fromhex(match.group(1).removeprefix(VALUE)).decode("utf-8")
            return f' class="v" data-v="{escape(shown(words), QUOTES)}"'
        return f' id="{name}-{match.group(1)}"' if match.group(1) in used else ""

    value = VALUE in tag
    tag = re.sub(r' id="([^"]*)"', own, tag)
    if value:  # holds the reader's own words, in which nothing is replaced
        return tag
    tag = re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", tag)
    tag = re.sub(r'xlink:href="#([^"]+)"', rf'href="#{name}-\1"', tag)
    tag = tag.replace(' target="_blank"', "")
    tag = re.sub(r"-?\d+\.\d{3,}", lambda decimal: f"{float(decimal.group(0)):.2f}", tag)
    tag = re.sub(r' transform="rotate\(-?0 [^"]*"', "", tag)
    for variable, colour in LIGHT.items():
        tag = tag.replace(colour, f"var(--{variable})")
    tag = re.sub(r"font-family: [^;\"]*", "font-family: var(--sans)", tag)
    return re.sub(r"\s*\n\s*", " ", tag)


def standalone_svg(svg: str) -> str:
    """Make a drawing a file of its own: its colours put in, on white paper."""
    coloured = re.sub(r"var\(--([a-z]+)\)", lambda name: LIGHT.get(name[1], LIGHT["ink"]), svg)
    opening = '<svg xmlns="http://www.w3.org/2000/svg" font-family="sans-serif"'
    named = coloured.replace("<svg", opening, 1)
    end = named.index(">") + 1
    return f'{named[:end]}<rect width="100%" height="100%" fill="#ffffff"/>{named[end:]}'
