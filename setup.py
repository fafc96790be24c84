"""Build and installation: run-time packages numpy, scipy, numba and nltk; pure Python, unless

    CENTRALPATH_WHEEL=x86-64-v3 pip wheel .

asks for a wheel with compiled kernels, for one Python and platform and a baseline of processors (docs/compilation.md).
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from shutil import rmtree

from setuptools import Distribution, find_packages, setup
from setuptools.command.build_py import build_py

# Where a solver publishes no wheel for a newer Python it is left out: installing must never need a compiler.
ECOS = 'ecos; python_version < "3.13"'
QOCO = 'qoco; python_version < "3.14"'
QTQP = 'qtqp; python_version >= "3.11"'

ROOT = Path(__file__).parent
VERSION = re.findall(r'__version__ = "(.+)"', (ROOT / "socp" / "version.py").read_text(encoding="utf-8"))[0]
RUN_TIME = ["numpy>=1.26", "scipy>=1.12", "numba>=0.60", "nltk"]
PROCESSOR = os.environ.get("CENTRALPATH_WHEEL", "")

MAKE = """
import sys
from pathlib import Path
import models, qp
from socp.compiled import cache, kernels, packaged
from socp.warmup import prepare_packages

processor, folder = sys.argv[1:]
if processor not in packaged.BASELINES:
    sys.exit(f"CENTRALPATH_WHEEL={processor} is none of {', '.join(packaged.BASELINES)}")
prepare_packages()
cache.package(kernels.kernels(), Path(folder), processor)
"""


class WithKernels(build_py):
    """The packages' files, and the kernels of all of them compiled for a baseline of processors."""

    def run(self):
        super().run()
        library = Path(self.build_lib).resolve()
        rmtree(library / "socp" / "kernels", ignore_errors=True)
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA_", "CENTRALPATH_"))}
        with tempfile.TemporaryDirectory() as folder:
            environment = {
                **clean, "NUMBA_CPU_NAME": PROCESSOR, "NUMBA_CPU_FEATURES": "", "NUMBA_DISABLE_INTEL_SVML": "1",
                "NUMBA_CACHE_DIR": folder, "PYTHONDONTWRITEBYTECODE": "1",
                "PYTHONPATH": os.pathsep.join([str(library), *filter(None, [clean.get("PYTHONPATH")])]),
            }  # fmt: skip
            command = [sys.executable, "-c", MAKE, PROCESSOR, str(library / "socp" / "kernels")]
            subprocess.run(command, check=True, cwd=library, env=environment)


class OfOnePlatform(Distribution):
    """What is installed where machine code is."""

    def has_ext_modules(self):
        return True


with_kernels = {
    "cmdclass": {"build_py": WithKernels}, "distclass": OfOnePlatform, "setup_requires": RUN_TIME,
}  # fmt: skip

setup(
    **(with_kernels if PROCESSOR else {}),
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
    entry_points={
        "console_scripts": ["centralpath = bench.__main__:main"],
        "centralpath.cvxpy": ["qp = qp.interop.cvxpy"],  # which `socp.interop.cvxpy` loads
    },
    package_data={"socp": ["py.typed"], "qp": ["py.typed"], "models": ["py.typed"], "bench": ["py.typed"]},
    install_requires=RUN_TIME,
    extras_require={
        "bench": [
            *("clarabel", ECOS, "cvxopt", "highspy", "osqp", "piqp", "proxsuite", QOCO, QTQP, "scs"),
            *("joblib", "matplotlib", "pandas", "scikit-learn", "tqdm"),
        ],
        "test": [
            "pytest",
            "pytest-timeout",
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
        "torch": ["torch"],
        "jax": ["jax"],
        "docs": ["furo", "latex2mathml", "matplotlib", "myst-nb", "sphinx"],
    },
)
