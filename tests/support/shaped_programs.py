"""Programs in the arguments that ECOS and CVXOPT share, and the conditions that their answers meet."""

import numpy as np

DIMS = {"l": 6, "q": [3, 4]}
# rows of G and h: x <= -1 and x >= 1; x <= 0, to be minimized
INFEASIBLE, UNBOUNDED = ([[1.0], [-1.0]], [-1.0, -1.0]), ([[1.0]], [0.0])


def inside(rng, least=0.5):
    """Return a point inside the cone of `DIMS`, by a margin of `least`."""
    parts = [rng.uniform(least, least + 1.0, DIMS["l"])]
    for size in DIMS["q"]:
        tail = rng.normal(size=size - 1)
        parts.append(np.concatenate([[np.linalg.norm(tail) + least], tail]))
    return np.concatenate(parts)


def cone_program(seed, P=None):
    """Return (c, G, h, dims, A, b) of a feasible and bounded program."""
    rng = np.random.default_rng(seed)
    G, A = rng.normal(size=(13, 5)), rng.normal(size=(2, 5))
    x = rng.normal(size=5)
    c = -G.T @ inside(rng) - A.T @ rng.normal(size=2)
    return (c if P is None else c - P @ x), G, G @ x + inside(rng), DIMS, A, A @ x


def depth(v):
    """Return how far v is inside the cone of `DIMS`."""
    parts = np.split(v, np.cumsum([DIMS["l"], *DIMS["q"]])[:-1])
    return min(parts[0].min(), *(part[0] - np.linalg.norm(part[1:]) for part in parts[1:]))


def check_conditions(c, G, h, dims, A, b, answer, P=None, atol=1e-7):
    """Check Px + c + G'z + A'y = 0, Gx + s = h, Ax = b, s and z in the cone, s'z = 0: ECOS's and CVXOPT's signs."""
    x, y, z, s = (np.asarray(answer[name]) for name in "xyzs")
    gradient = c if P is None else c + P @ x
    np.testing.assert_allclose(gradient + G.T @ z + A.T @ y, 0.0, atol=atol)
    np.testing.assert_allclose(G @ x + s, h, atol=atol)
    np.testing.assert_allclose(A @ x, b, atol=atol)
    assert min(depth(s), depth(z)) >= -atol and abs(s @ z) <= 10 * atol
    assert np.abs(y).min() > 1e-3 and np.abs(z).max() > 1e-3  # multipliers whose signs can be told
