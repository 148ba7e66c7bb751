from understudy.synthesis.registry import MODELS, Model, Positive, Setting

MODELS["smoothed"] = Model(  # in registry.py: a further line of MODELS
    title="Smoothed",
    location="smoothed:Smoothed",  # module and class
    words="labels of every pattern with a prior count",
    public="the labels of every combination of kept variables, with a Dirichlet prior",
    settings={  # fields of the class; what has no public name stays internal
        "prior_count": Setting(Positive, "prior count of every label", "prior count of a label"),
    },
    colours=("#6b6b00", "#c9c94d"),  # on a light and on a dark page
    seconds=lambda data: 1e-8 * data.n_records,  # of a sweep, about
    chain_bytes=lambda data: 8 * len(data.patterns) * data.n_labels,
    needs_patterns=True,
)
