# %% [markdown]
# # Judge synthpop's files
#
# Three files that the R package synthpop made of a small survey: three keys are kept, the label is synthetic. Nothing but the
# files is needed. From R itself there is [one function](../howto/from-synthpop.md).

# %%
from pathlib import Path

import understudy as us

folder = Path("tests/risk/reference")
data = us.read_microdata(folder / "synthpop_original.csv", synthesize="label")
files = [folder / f"synthpop_synthetic_{number}.csv" for number in (1, 2, 3)]
sets = us.read_synthetic(data, files)
data

# %%
sets.plot()

# %% [markdown]
# What synthpop's `disclosure()` calls repU, DiS and so on:

# %%
us.attribution_risk(data, sets, keys=["key1", "key2", "key3"], target="label")

# %% [markdown]
# What matching by rows finds, and what people's own records add to it. Without a control group this is weaker evidence.

# %%
us.identification_risk(data, sets, known=["key1", "key2"])

# %%
us.own_record_effect(data, sets, known=[["key1", "key2"]]).plot()

# %%
us.propensity_utility(data, sets, repeats=5, seed=1)
