"""CSC arrays put together without scipy's checks are like scipy's own."""

import numpy as np
import pytest
import scipy.sparse as sp

from socp.linalg.csc import csc, csc_of_dense


@pytest.mark.parametrize("shape", [(4, 3), (3, 5), (0, 3), (3, 0), (1, 1)])
@pytest.mark.parametrize("density", [0.0, 0.5, 1.0])
def test_dense_to_csc(shape, density):
    rng = np.random.default_rng(0)
    dense = rng.normal(size=shape) * (rng.uniform(size=shape) < density)
    mine, scipys = csc_of_dense(dense), sp.csc_array(dense)
    assert mine.shape == shape and mine.nnz == scipys.nnz
    assert mine.indices.dtype == mine.indptr.dtype == np.int64
    for name in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(mine, name), getattr(scipys, name))


def test_parts_make_a_whole_array():
    parts = np.array([1.0, 2.0, 3.0]), np.array([0, 2, 1]), np.array([0, 2, 3])
    mine, scipys = csc(*parts, (3, 2)), sp.csc_array(parts, shape=(3, 2))
    mine.check_format(full_check=True)
    assert vars(mine).keys() == vars(scipys).keys()
    assert (str(mine), repr(mine)) == (str(scipys), repr(scipys))
    np.testing.assert_array_equal(mine @ np.array([1.0, 10.0]), [1, 30, 2])
    np.testing.assert_array_equal(mine.T.toarray(), [[1, 0, 2], [0, 3, 0]])
    np.testing.assert_array_equal(mine[:, [1]].toarray(), [[0], [3], [0]])
    assert mine.has_canonical_format and mine.copy().indices.dtype == np.int64
    mine.data[0] = 7.0
    assert parts[0][0] == 7.0  # nothing is copied
