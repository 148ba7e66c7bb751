"""`synthesize`: from a frame to synthetic frames in one line, for a first look.

What comes back is row-aligned with the confidential data and has been judged by nobody. A `Study`
measures and judges, and `release` makes what may be published.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from understudy.checks import check_whole
from understudy.microdata.reading import read_microdata
from understudy.public_errors import only_our_errors
from understudy.randomness import check_seed, child_seed
from understudy.synthesis.registry import default_models, load_model
from understudy.synthesis.run_fit import SampledModel

__all__ = ["synthesize"]


@only_our_errors
def synthesize(
    source: Any,
    names: Sequence[str] | str,
    m: int = 20,
    *,
    model: Any = None,
    seed: int | None = None,
    progress: bool = True,
    **reading: Any,
) -> list[Any]:
    """Read, fit, and draw synthetic versions of some columns.

    The frames are confidential: row i stands in for record i, and nothing has been measured. See
    `Study` for the way to a decision.

    Parameters
    ----------
    source : path or frame
        A file, or a pandas, Polars or pyarrow data frame; see `read_microdata`.
    names : str or sequence of str
        Columns to synthesize.
    m : int
        How many versions.
    model : optional
        Settings of a synthesizer, such as ``us.DPMPM()``; the back-off tree when left out, or
        the DPMPM where missing values are to be modelled.
    seed : int, optional
        Makes the draws repeatable.
    progress : bool
        Whether a terminal or notebook shows how far it is.
    **reading
        Options of `read_microdata`, such as ``ignore=["id"]``.

    Returns
    -------
    list of frames
        Of the kind that the data came in; Polars for files.

    Examples
    --------
    >>> import polars as pl
    >>> import understudy as us
    >>> frame = pl.DataFrame({"sex": ["f", "m"] * 30, "town": ["north", "north", "south"] * 20})
    >>> sets = us.synthesize(frame, "town", m=2, seed=1)
    >>> len(sets), sets[0].columns, sets[0]["sex"].equals(frame["sex"])
    (2, ['sex', 'town'], True)
    """
    check_whole("m", m, 1)
    data = read_microdata(source, names, **reading)
    if model is None:
        parts = {"patterns": bool(data.kept), "holes": bool(data.with_holes)}
        model = load_model(default_models(**parts)[0])()
    seed = check_seed(seed)
    runs_chains = isinstance(model, SampledModel)
    options: dict[str, Any] = {}
    if runs_chains:
        options = {"seed": child_seed(seed, "synthesize", "fit"), "progress": progress}
    fit = model.fit(data, **options)
    return list(fit.synthesize(m, seed=child_seed(seed, "synthesize", "sets")))
