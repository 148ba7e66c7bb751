# %% [markdown]
# # Write your own synthesizer
#
# Whatever makes labels can be judged: give codes for every record and set. Here labels are drawn from the shares of the
# pattern, mixed with those of everybody. A model with chains, saved runs and diagnostics is
# [one file more](../adding-a-synthesizer.md).

# %%
import numpy as np
import polars as pl

import understudy as us

generator = np.random.default_rng(1)
rows = {
    "sex": generator.integers(2, size=600),
    "age": generator.integers(5, size=600),
}
rows["town"] = (rows["age"] + generator.integers(4, size=600)) % 6
frame = pl.DataFrame({name: codes.astype(str) for name, codes in rows.items()})
data = us.read_microdata(frame, synthesize="town")
data


# %%
def mixed_sets(data, share, m, seed):
    """Draw labels: with probability `share` of the record's pattern, otherwise of everybody."""
    generator = np.random.default_rng(seed)
    labels = data.codes("town")
    pattern = data.patterns.of_combination[data.of_record]
    drawn = np.empty((m, data.n_records, 1), dtype=np.int32)  # (set, record, variable)
    for number in range(m):
        drawn[number, :, 0] = generator.choice(labels, data.n_records)
        for each in range(len(data.patterns)):
            own = np.flatnonzero((pattern == each) & (generator.random(data.n_records) < share))
            drawn[number, own, 0] = generator.choice(labels[pattern == each], own.size)
    return us.SyntheticSets(data, drawn)


sets = {share: mixed_sets(data, share, m=5, seed=2) for share in (0.0, 0.5, 1.0)}

# %% [markdown]
# More of the pattern: better tables, more true labels. The baselines say what that means.

# %%
{share: us.table_utility(data, own).ratio[2] for share, own in sets.items()}

# %%
{share: us.attribute_risk(data, own).share for share, own in sets.items()}

# %%
us.inherent_risk(data, known=["sex", "age"], repeats=5, seed=3).plot("attribute_matches")

# %%
us.own_record_effect(data, sets[0.5], known=[["sex", "age"]]).plot()
