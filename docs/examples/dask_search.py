"""A grid search and a stack of programs on the workers of a dask scheduler.

A cluster of one's own is made here; `Client("tcp://address:8786")` takes one that runs.  The estimators follow
scikit-learn's protocol, so `GridSearchCV` under joblib's dask backend needs nothing more; programs and solutions are
pickled, so `client.map(qp.solve, programs)` works as it stands.
"""

import joblib
import numpy as np
from dask.distributed import Client
from sklearn.model_selection import GridSearchCV

import qp
from models import SVC


def main(processes=True):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    y = np.sum(X**2, axis=1) > 1.4
    search = GridSearchCV(SVC(), {"C": [0.1, 1.0, 10.0], "gamma": [0.1, 1.0]}, cv=3)
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": processes, "dashboard_address": None}
    with Client(**options) as client:
        client.run(qp.warmup)  # loads the kernels once per worker, before the first solve
        with joblib.parallel_config(backend="dask", client=client):
            search.fit(X, y)
        programs = [qp.QuadraticProgram(np.eye(3), np.full(3, -k), lb=0.0, ub=1.0) for k in (0.5, 1.0, 2.0)]
        solutions = client.gather(client.map(qp.solve, programs))
    print(f"the best of {len(search.cv_results_['params'])}: {search.best_params_}, {search.best_score_:.3f}")
    print("programs:", [f"{solution.status} {solution.objective:.3f}" for solution in solutions])
    return search, solutions


if __name__ == "__main__":
    main()
