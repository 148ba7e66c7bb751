"""What missing values and impossible combinations cost the DPMPM, and how well holes are filled.

``python -m benchmarks.missing`` takes a tenth of the ages of the bundled data away at random, fits
the whole data, the data with holes (``missing="model"``) and the complete records alone
(``"drop"``), and compares the label probabilities of the forty whole patterns. Then it declares
impossible combinations and fits again. Prior counts of 1, two chains.
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

import understudy as us
from understudy.errors import UnderstudyWarning
from understudy.randomness import stream

MODEL = us.DPMPM(sampler="blocked", level_prior=1.0)
LENGTH: dict[str, Any] = {"chains": 2, "warmup": 2_000, "draws": 250, "thin": 20, "threads": 1}
SHARE = 0.1  # of the ages that are taken away


def fitted(data: us.Microdata, name: str) -> Any:
    """Fit, and print the processor seconds."""
    begin = time.process_time()
    fit = MODEL.fit(data, seed=1, **LENGTH)
    seconds = time.process_time() - begin
    sweeps = LENGTH["chains"] * (LENGTH["warmup"] + LENGTH["draws"] * LENGTH["thin"])
    print(
        f"{name}: {data.n_records:,} records, {data.n_combinations:,} combinations, "
        f"{seconds:.0f} processor s, {1e3 * seconds / sweeps:.3f} ms a sweep, observations included"
    )
    return fit


def of_whole_patterns(fit: Any) -> NDArray[np.float64]:
    """Label probabilities of the patterns without holes: (chain, draw, pattern, label)."""
    table = np.asarray(fit.draws["posterior"]["label_probability"], dtype=np.float64)
    labels = [not name.endswith("(missing)") for name in fit.draws.coordinates["label"]]
    whole = ["(missing)" not in name for name in fit.draws.coordinates["pattern"]]
    return table[:, :, whole][..., labels]


def main() -> None:
    """Print everything."""
    warnings.simplefilter("ignore", UnderstudyWarning)
    frame = as_text(us.load_ce_like().frame("polars"))
    whole = us.read_microdata(frame, synthesize="county")  # with its levels in the same order
    taken = stream(1, "missing").random(whole.n_records) < SHARE
    holed = frame.with_columns(age=pl.when(pl.Series(taken)).then(None).otherwise("age"))
    read = {
        name: us.read_microdata(holed, synthesize="county", missing=name)
        for name in ("model", "drop")
    }
    fits = {name: fitted(data, name) for name, data in {"whole": whole, **read}.items()}
    tables = {name: of_whole_patterns(fit) for name, fit in fits.items()}
    mean = {name: table.mean(axis=(0, 1)) for name, table in tables.items()}  # (pattern, label)
    spread = tables["whole"].std(axis=(0, 1))  # (pattern, label) posterior
    by_chain = tables["whole"].mean(axis=1)  # (chain, pattern, label)
    print(f"posterior standard deviation, whole data: {np.sqrt((spread**2).mean()):.2e}")
    print(f"the two chains apart, root mean square: {rms(by_chain[0] - by_chain[1]):.2e}")
    for name in ("model", "drop"):
        apart = mean[name] - mean["whole"]
        within = (np.abs(apart) < 2 * spread).mean()
        print(
            f"{name} against whole: root mean square {rms(apart):.2e}, worst "
            f"{np.abs(apart / spread).max():.1f} posterior standard deviations, "
            f"{100 * within:.1f} % within two of them"
        )

    rules = never_together(frame)
    declared = us.read_microdata(frame, synthesize="county", codebook={"impossible": rules})
    n_rules = sum(len(rule["county"]) for rule in rules)
    truncated = fitted(declared, f"{n_rules} pairs of age and county impossible")
    broken = [
        sum(
            int((drawn["age"].is_in(rule["age"]) & drawn["county"].is_in(rule["county"])).sum())
            for drawn in map(as_text, fit.synthesize(m=20, seed=1))
            for rule in rules
        )
        for fit in (truncated, fits["whole"])
    ]
    print(f"impossible records in 20 sets: {broken[0]}; without the rules {broken[1]}")


def as_text(frame: pl.DataFrame) -> pl.DataFrame:
    """Give all columns as text."""
    return frame.cast(pl.String)


def never_together(frame: pl.DataFrame) -> list[dict[str, list[str]]]:
    """Rules that no record breaks: for every age the counties in which nobody has it."""
    counties = set(frame["county"])
    rules = []
    for age in sorted(set(frame["age"])):
        absent = counties - set(frame.filter(pl.col("age") == age)["county"])
        if absent:
            rules.append({"age": [age], "county": sorted(absent)})
    return rules


def rms(values: NDArray[np.float64]) -> float:
    """Root mean square."""
    return float(np.sqrt((values**2).mean()))


if __name__ == "__main__":
    main()
