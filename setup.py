"""Build and installation: pure Python, run-time packages numpy, scipy, numba and nltk."""

import re
from pathlib import Path

from setuptools import find_packages, setup

# Where a solver publishes no wheel for a newer Python it is left out: installing must never need a compiler.
ECOS = 'ecos; python_version < "3.13"'
QOCO = 'qoco; python_version < "3.14"'
QTQP = 'qtqp; python_version >= "3.11"'

ROOT = Path(__file__).parent
VERSION = re.findall(r'__version__ = "(.+)"', (ROOT / "socp" / "version.py").read_text(encoding="utf-8"))[0]

setup(
    name="centralpath",
    version=VERSION,
    description="Primal-dual interior points for second-order cone and quadratic programs, and learning models on top",
    long_description=(ROOT / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    author="the centralpath developers",
    license="MIT",
    license_files=["LICENSE"],
    keywords=[
        *("convex optimization", "interior point", "quadratic programming", "second-order cone programming", "socp"),
        *("qp", "support vector machine", "machine learning", "numba"),
    ],
    classifiers=[
        "Development Status :: 4 - Beta",
        "Intended Audience :: Developers",
        "Intended Audience :: Education",
        "Intended Audience :: Science/Research",
        "Operating System :: OS Independent",
        "Programming Language :: Python :: 3",
        *(f"Programming Language :: Python :: 3.{minor}" for minor in range(10, 15)),
        "Topic :: Scientific/Engineering :: Artificial Intelligence",
        "Topic :: Scientific/Engineering :: Mathematics",
        "Typing :: Typed",
    ],
    python_requires=">=3.10",
    packages=find_packages(include=["socp", "socp.*", "qp", "qp.*", "models", "models.*", "bench", "bench.*"]),
    py_modules=["centralpath"],
    entry_points={"console_scripts": ["centralpath = bench.__main__:main"]},
    package_data={"socp": ["py.typed"], "qp": ["py.typed"], "models": ["py.typed"], "bench": ["py.typed"]},
    install_requires=["numpy>=1.26", "scipy>=1.12", "numba>=0.60", "nltk"],
    extras_require={
        "bench": [
            *("clarabel", ECOS, "cvxopt", "highspy", "osqp", "piqp", "proxsuite", QOCO, QTQP, "scs"),
            *("joblib", "matplotlib", "pandas", "scikit-learn", "tqdm"),
        ],
        "test": [
            "pytest",
            "pytest-xdist",
            "hypothesis",
            "hmmlearn",
            "clarabel",
            "dask[distributed]",
            ECOS,
            "joblib",
            "matplotlib",
            "pandas",
            "cvxpy",
            "qpsolvers",
            "scikit-learn",
            "mypy",
            "ruff",
            "setuptools",
            "wheel",
        ],
        "docs": ["furo", "latex2mathml", "matplotlib", "myst-nb", "sphinx"],
    },
)
