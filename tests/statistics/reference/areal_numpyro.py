"""Posterior of the DP-areal model on a tiny table by NumPyro's NUTS, for the test to compare with.

Written from the model's definition and sharing nothing with the package: log rates are sampled,
clusters are summed out, log-likelihoods come from a fixed grid. It is no part of the test suite and
its libraries are no dependencies; its figures lie beside it in ``areal_numpyro.json``, with the
settings and versions that made them. To make them again, in an environment with numpyro and jax:

    python tests/statistics/reference/areal_numpyro.py
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from jax.scipy.special import gammaln, logsumexp
from numpyro.diagnostics import effective_sample_size, split_gelman_rubin
from numpyro.infer import MCMC, NUTS

numpyro.enable_x64()

SETTINGS: dict[str, Any] = {
    "table": [[0, 1, 4, 0], [2, 0, 7, 1], [0, 0, 1, 3]],
    "n_clusters": 3,
    "gamma_priors": {
        "concentration_prior": [3.0, 2.0],
        "log_rate_precision_prior": [4.0, 2.0],
        "intercept_precision_prior": [3.0, 2.0],
        "mean_precision_prior": [3.0, 2.0],
        "slope_mean_precision_prior": [3.0, 2.0],
    },
    "scale_prior": [3.0, 1.0],
    "correlation_shape": {"text": 2.0, "script": 4.0},
    "chains": 4,
    "warmup": 1500,
    "draws": 4000,
    "target_acceptance": 0.93,
    "seed": 20,
}


def model(table: Any, variant: str) -> None:
    """The model of the paper; the table is (pattern, label), one kept variable."""
    n_patterns, _ = table.shape
    n_clusters = SETTINGS["n_clusters"]
    gamma = {name: dist.Gamma(*numbers) for name, numbers in SETTINGS["gamma_priors"].items()}
    alpha = numpyro.sample("concentration", gamma["concentration_prior"])
    precision = numpyro.sample("log_rate_precision", gamma["log_rate_precision_prior"])
    tau_theta = numpyro.sample("tau_theta", gamma["intercept_precision_prior"])
    tau_mu = numpyro.sample("tau_mu", gamma["mean_precision_prior"])
    tau_phi = numpyro.sample("tau_phi", gamma["slope_mean_precision_prior"])
    if variant == "text":
        sticks = numpyro.sample("sticks", dist.Beta(jnp.ones(n_clusters - 1), alpha))
        rest = jnp.concatenate([jnp.zeros(1), jnp.cumsum(jnp.log1p(-sticks))])
        log_weights = jnp.concatenate([jnp.log(sticks), jnp.zeros(1)]) + rest
    else:
        free = numpyro.sample(
            "free", dist.ImproperUniform(dist.constraints.real, (), (n_clusters,))
        )
        shape = alpha / n_clusters
        numpyro.factor("gammas", jnp.sum(shape * free - jnp.exp(free) - gammaln(shape)))
        log_weights = free - logsumexp(free)
    degrees, scale = SETTINGS["scale_prior"]
    half_t = dist.FoldedDistribution(dist.StudentT(degrees, 0.0, scale))
    sigma = numpyro.sample("sigma", half_t.expand([n_patterns]))
    factor = numpyro.sample(
        "factor", dist.LKJCholesky(n_patterns, SETTINGS["correlation_shape"][variant])
    )
    mu = numpyro.sample("mu", dist.Normal(0.0, 1.0)) / jnp.sqrt(tau_mu)
    mu_phi = numpyro.sample("mu_phi", dist.Normal(jnp.zeros(n_patterns), 1.0)) / jnp.sqrt(tau_phi)
    theta = numpyro.sample("theta", dist.Normal(jnp.zeros(n_clusters), 1.0)) / jnp.sqrt(tau_theta)
    u = numpyro.sample("u", dist.Normal(jnp.zeros((n_clusters, n_patterns)), 1.0))
    phi = mu_phi + (u @ factor.T) * sigma  # (cluster, slope)
    means = mu + theta[:, None] + phi  # (cluster, pattern)
    y = numpyro.sample("log_rates", dist.ImproperUniform(dist.constraints.real, (), table.shape))
    apart = y[None] - means[:, :, None]  # (cluster, pattern, label)
    normal = -0.5 * precision * apart**2 + 0.5 * jnp.log(precision / (2 * jnp.pi))
    numpyro.factor("clusters", jnp.sum(logsumexp(log_weights[:, None, None] + normal, axis=0)))
    numpyro.factor("counts", jnp.sum(table * y - jnp.exp(y)))
    numpyro.deterministic("means", means)
    numpyro.deterministic("log_weights", log_weights)


def log_likelihood(table: Any, means: Any, log_weights: Any, precision: Any) -> float:
    """Log rates and clusters integrated out, on a fixed grid of log rates."""
    grid = np.linspace(-40.0, 12.0, 2601)
    normal = -0.5 * precision * (grid - means[:, :, None]) ** 2
    normal += 0.5 * np.log(precision / (2 * np.pi)) + log_weights[:, None, None]
    mixture = np.exp(normal).sum(axis=0) * (grid[1] - grid[0])  # (pattern, grid)
    total = 0.0
    for pattern, row in enumerate(table):
        for count in row:
            poisson = np.exp(count * grid - np.exp(grid) - float(gammaln(count + 1.0)))
            total += np.log((poisson * mixture[pattern]).sum())
    return float(total)


def summarized(values: Any) -> dict[str, float]:
    """Mean, its Monte-Carlo standard error, and R-hat of draws (chain, draw)."""
    size = float(effective_sample_size(values))
    return {
        "mean": float(values.mean()),
        "standard_error": float(values.std() / np.sqrt(size)),
        "effective_draws": size,
        "rhat": float(split_gelman_rubin(values)),
    }


def posterior(variant: str) -> dict[str, Any]:
    """Run NUTS and summarize what the test compares."""
    table = np.array(SETTINGS["table"])
    kernel = NUTS(model, target_accept_prob=SETTINGS["target_acceptance"])
    run = MCMC(
        kernel,
        num_warmup=SETTINGS["warmup"],
        num_samples=SETTINGS["draws"],
        num_chains=SETTINGS["chains"],
        progress_bar=False,
    )
    run.run(jax.random.PRNGKey(SETTINGS["seed"]), jnp.array(table), variant)
    drawn = {
        name: np.asarray(values) for name, values in run.get_samples(group_by_chain=True).items()
    }
    rates = np.exp(drawn["log_rates"])
    probabilities = rates / rates.sum(axis=-1, keepdims=True)  # (chain, draw, pattern, label)
    summaries = {name: summarized(drawn[name]) for name in ("concentration", "log_rate_precision")}
    thin = 10
    likelihood = np.array(
        [
            [
                log_likelihood(
                    table,
                    *(
                        drawn[name][chain, draw]
                        for name in ("means", "log_weights", "log_rate_precision")
                    ),
                )
                for draw in range(0, SETTINGS["draws"], thin)
            ]
            for chain in range(SETTINGS["chains"])
        ]
    )
    summaries["log_likelihood"] = summarized(likelihood)
    for pattern in range(table.shape[0]):
        for label in range(table.shape[1]):
            values = probabilities[:, :, pattern, label]
            summaries[f"label_probability[{pattern},{label}]"] = summarized(values)
            summaries[f"label_probability[{pattern},{label}]^2"] = summarized(values**2)
    divergences = int(run.get_extra_fields()["diverging"].sum())
    return {"divergences": divergences, "quantities": summaries}


if __name__ == "__main__":
    result = {
        "settings": SETTINGS,
        "versions": {"numpyro": numpyro.__version__, "jax": jax.__version__},
        "variants": {variant: posterior(variant) for variant in ("text", "script")},
    }
    path = Path(__file__).with_suffix(".json")
    path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
