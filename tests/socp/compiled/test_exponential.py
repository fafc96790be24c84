"""The exponential of kernels against NumPy's."""

import numpy as np
import pytest

from socp.compiled.exponential import exponential
from socp.compiled.kernels import kernel
from socp.compiled.signatures import Floats, Singles


@kernel
def exponentials(x: Floats) -> None:
    for i in range(x.size):
        x[i] = exponential(x[i])


@kernel
def single_exponentials(x: Singles) -> None:
    for i in range(x.size):
        x[i] = exponential(x[i])


@pytest.mark.parametrize(
    "function, dtype, least", [(exponentials, np.float64, -700.0), (single_exponentials, np.float32, -86.0)]
)
@pytest.mark.parametrize("size", [0, 1, 7, 64, 10001])
def test_it_is_exp_to_two_units_of_the_last_place(function, dtype, least, size):
    x = np.linspace(least, 0.0, size).astype(dtype)
    found = x.copy()
    function(found)
    np.testing.assert_allclose(found, np.exp(x.astype(np.float64)), rtol=2.0 * float(np.finfo(dtype).eps))


@pytest.mark.parametrize("function, dtype", [(exponentials, np.float64), (single_exponentials, np.float32)])
def test_zero_is_one_and_what_is_far_below_is_nothing(function, dtype):
    found = np.array([0.0, -0.0, -1e4, -1e30], dtype)
    function(found)
    assert found[:2].tolist() == [1.0, 1.0] and (found[2:] < 1e-37).all()
