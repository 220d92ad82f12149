"""Run by ``benchmarks.peers`` in an environment of its own: fits diffprivlib's models, of which we import nothing.

``python _peers_other.py IN.npz OUT.npz``: IN holds X, y, T, epsilon, seed, kind
and settings; OUT holds the scores of the rows T.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np


def scores(job):
    """Margins (a classifier) or predictions (a regressor) of test rows."""
    from diffprivlib import models

    X, y, T, epsilon = job["X"], job["y"], job["T"], float(job["epsilon"])
    seed = int(job["seed"])
    if str(job["kind"]) == "classifier":
        norm = float(job["norm"])
        model = models.LogisticRegression(
            epsilon=epsilon, data_norm=norm, C=float(job["C"]), max_iter=300, random_state=seed
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # rows beyond data_norm are cut to it: what `norm` is tuned for
            return model.fit(X, y).decision_function(T)
    p = X.shape[1]
    model = models.LinearRegression(
        epsilon=epsilon, bounds_X=(np.zeros(p), np.ones(p)), bounds_y=(-1.0, 1.0), random_state=seed
    )
    return model.fit(X, y).predict(T)


if __name__ == "__main__":
    with np.load(sys.argv[1], allow_pickle=False) as jobs:
        base = {k: jobs[k] for k in jobs.files}
    settings = base.pop("settings")  # one row per setting, columns as in `names`
    names = [str(v) for v in base.pop("names")]
    found = [scores({**base, **dict(zip(names, row, strict=True))}) for row in settings]
    np.savez(sys.argv[2], scores=np.stack(found))
