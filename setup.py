"""Build and installation: run-time packages numpy, scipy, numba and nltk.  `CENTRALPATH_WHEEL` says which kernels to
compile in the build (docs/compilation.md):

    not set         those for the processors like this one, where numba is there; otherwise the wheel is pure Python.
                    In an editable installation they go to the user's cache.
    x86-64-v3 ...   those for a baseline of processors, or the build fails
    (empty)         none: the wheel is pure Python
"""

import importlib.util
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from shutil import rmtree

import setuptools
from setuptools import Distribution, find_packages, setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

# Address of the project on the web, for the metadata, CITATION.cff and the links of the long description.
ADDRESS = ""

# A solver is left out for versions of Python without its wheel: installing must never need a compiler.
ECOS = 'ecos; python_version < "3.13"'
QOCO = 'qoco; python_version < "3.14"'
QTQP = 'qtqp; python_version >= "3.11"'

ROOT = Path(__file__).parent
VERSION = re.findall(r'__version__ = "(.+)"', (ROOT / "socp" / "version.py").read_text(encoding="utf-8"))[0]
RUN_TIME = ["numpy>=1.26", "scipy>=1.12", "numba>=0.60", "nltk"]
MAKE = """
import sys
from pathlib import Path
import models, qp
from socp.compiled import cache, kernels, packaged, target
from socp.kernel_groups import prepare_packages

processor, folder = sys.argv[1:]
if not folder:
    prepare_packages()
    sys.exit()
if processor not in packaged.BASELINES:
    sys.exit(f"CENTRALPATH_WHEEL={processor} is none of {', '.join(packaged.BASELINES)}")
if not target.numba_is_known():
    sys.exit(f"CENTRALPATH_WHEEL needs a numba from {target.known_numbas()}, which makes files of kernels")
prepare_packages()
cache.package(kernels.kernels(), Path(folder), processor)
"""


def baseline_here():
    """Return the widest baseline of a release that this machine's processor meets, or "" without numba."""
    try:
        import llvmlite.binding as llvm
        import numba  # noqa: F401
    except ImportError:
        return ""
    place = importlib.util.spec_from_file_location("packaged", ROOT / "socp" / "compiled" / "packaged.py")
    packaged = importlib.util.module_from_spec(place)
    place.loader.exec_module(packaged)
    triple, features = llvm.get_process_triple(), llvm.get_host_cpu_features()
    for baseline in ("x86-64-v3", "x86-64-v2") if triple.startswith("x86_64") else ():
        if all(features.get(name) for name in packaged.BASELINES[baseline]):
            return baseline
    return "apple-m1" if triple.startswith("arm64-apple") else "generic"


GIVEN = os.environ.get("CENTRALPATH_WHEEL")
PROCESSOR = baseline_here() if GIVEN is None else GIVEN


PACKAGES = ("socp", "qp", "models", "bench")
BESIDE = ["CHANGELOG.md", "CITATION.cff", ".gitignore", "bench/counts.tsv"]  # files that only the sdist contains
MADE = ["docs/_build", "docs/jupyter_execute", "docs/.jupyter_cache"]


def description(address):
    """Return the README with absolute links; without an address links become their text, and pictures are left out."""

    def absolute(found):
        mark, text, target = found.groups()
        if target.startswith(("https:", "http:")):
            return found[0]
        if not address or target.startswith("#"):
            return "" if mark else text
        return f"{mark}[{text}]({address}/blob/v{VERSION}/{target}{'?raw=true' if mark else ''})"

    return re.sub(r"(!?)\[([^]]*)\]\(([^)]+)\)", absolute, (ROOT / "README.md").read_text(encoding="utf-8"))


class WithTests(sdist):
    """Source distribution with tests and documentation: the README's commands work in an unpacked sdist."""

    def make_distribution(self):
        self.filelist.extend(BESIDE)
        for folder in ("tests", "docs", ".ci", ".github"):
            self.filelist.graft(folder)
        for folder in MADE:
            self.filelist.prune(folder)
        self.filelist.global_exclude("*.py[cod]")
        super().make_distribution()


class WithStubs(build_py):
    """Build with type stubs for `centralpath`: type checkers ignore a py.typed next to a single module."""

    def run(self):
        super().run()
        stubs = Path(self.build_lib) / "centralpath-stubs"
        stubs.mkdir(parents=True, exist_ok=True)
        imports = "".join(f"import {name} as {name}\n" for name in PACKAGES)
        (stubs / "__init__.pyi").write_text(f"{imports}\n__version__: str\n", encoding="utf-8")
        for name in PACKAGES:
            (stubs / f"{name}.pyi").write_text(f"from {name} import *\n", encoding="utf-8")


class WithKernels(WithStubs):
    """Build that adds the kernels of all packages, compiled for a baseline of processors."""

    def run(self):
        super().run()
        if self.editable_mode:
            self.compile_kernels(ROOT, "", {})
            return
        library = Path(self.build_lib).resolve()
        kernels = library / "socp" / "kernels"
        rmtree(kernels, ignore_errors=True)
        with tempfile.TemporaryDirectory() as folder:
            target = {
                "NUMBA_CPU_NAME": PROCESSOR, "NUMBA_CPU_FEATURES": "", "NUMBA_DISABLE_INTEL_SVML": "1",
                "NUMBA_CACHE_DIR": folder,
            }  # fmt: skip
            self.compile_kernels(library, str(kernels), target)

    def compile_kernels(self, library, kernels, target):
        """Compile the kernels of the packages in `library` into the folder `kernels`, or into the user's cache."""
        left_out = ("CENTRALPATH_", "NUMBA_") if target else ("CENTRALPATH_",)
        clean = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
        path = os.pathsep.join([str(library), *filter(None, [clean.get("PYTHONPATH")])])
        environment = {**clean, **target, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": path}
        command = [sys.executable, "-c", MAKE, PROCESSOR, kernels]
        try:
            subprocess.run(command, check=True, cwd=library, env=environment)
        except (OSError, subprocess.CalledProcessError) as error:
            if GIVEN is not None:
                raise
            rmtree(kernels or library / "socp" / "kernels", ignore_errors=True)
            print(f"warning: no kernel is compiled here, the first use will ({error})", file=sys.stderr)


class OfOnePlatform(Distribution):
    """Distribution for one platform, as it contains machine code."""

    def has_ext_modules(self):
        return True


# pip asks for the packages of a build by `egg_info`: numba among them unless the wheel is to be pure Python.
asked = {"setup_requires": RUN_TIME} if GIVEN != "" and sys.argv[-1] == "egg_info" else {}
# setuptools 77 and later take an SPDX expression.
licence = {"license_expression" if int(setuptools.__version__.split(".")[0]) >= 77 else "license": "MIT"}

setup(
    **asked,
    **({"distclass": OfOnePlatform} if PROCESSOR else {}),
    **licence,
    cmdclass={"build_py": WithKernels if PROCESSOR else WithStubs, "sdist": WithTests},
    name="centralpath",
    version=VERSION,
    description="Primal-dual interior points for second-order cone and quadratic programs, and learning models on top",
    long_description=description(ADDRESS),
    long_description_content_type="text/markdown",
    author="the centralpath developers",
    license_files=["LICENSE"],
    url=ADDRESS or None,
    project_urls={"Changelog": f"{ADDRESS}/blob/v{VERSION}/CHANGELOG.md"} if ADDRESS else {},
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
    packages=find_packages(include=[pattern for name in PACKAGES for pattern in (name, f"{name}.*")]),
    py_modules=["centralpath"],
    entry_points={
        "console_scripts": ["centralpath = centralpath:main"],
        "centralpath.cvxpy": ["qp = qp.interop.cvxpy"],  # loaded by `socp.interop.cvxpy`
    },
    package_data={name: ["py.typed"] for name in PACKAGES},
    install_requires=RUN_TIME,
    extras_require={
        "bench": [
            *("clarabel", ECOS, "cvxopt", "highspy", "osqp", "piqp", "proxsuite", "qpalm", QOCO, QTQP, "scs"),
            *("joblib", "matplotlib", "pandas", "scikit-learn", "tqdm"),
        ],
        "test": [
            "pytest",
            "pytest-timeout",
            "pytest-xdist",
            "hypothesis",
            "clarabel",
            "dask[distributed]",
            ECOS,
            "hmmlearn",
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
        "cvxpy": ["cvxpy>=1.7"],
        "plot": ["matplotlib"],
        "torch": ["torch"],
        "jax": ["jax"],
        "docs": ["furo", "latex2mathml", "matplotlib", "myst-nb", "sphinx"],
    },
)
