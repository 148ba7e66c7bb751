# %% [markdown]
# # First steps
#
# From a pandas frame to synthetic frames, to what they are worth and what they give away. The frame here is the bundled sample:
# 6,208 invented households, whose county may not be published.

# %%
import understudy as us

frame = us.load_ce_like().frame("pandas")
frame.head(3)

# %% [markdown]
# One line gives synthetic frames: `us.synthesize(frame, "county", m=20)`. In steps, so that everything can be looked at:

# %%
fit = us.BackoffTree().fit(frame, synthesize="county", warmup=100, draws=250, seed=1)
fit

# %%
fit.plot(["expected_matches", "expected_match_risk"])

# %%
sets = fit.synthesize(5, seed=2)
sets[0].head(3)

# %% [markdown]
# How many rows each level has, original and synthetic. A kept column is the same in all.

# %%
sets.plot("county")

# %% [markdown]
# What an intruder who knows gender, age and the true county can do, and what the tables are worth:

# %%
risk = us.identification_risk(fit.data, sets, known=["gender", "age"])
risk

# %%
us.table_utility(fit.data, sets)

# %%
risk.to_frame()

# %% [markdown]
# These frames are confidential: row i stands in for record i. `us.Study` measures everything and decides; `us.release` is the only
# function that writes files that may be published.
