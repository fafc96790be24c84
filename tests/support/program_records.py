"""What each estimator solves and how: function, residual, method, and a fault in its own path that its test finds.

python -m tests.support.program_records          print the tables of docs/programs.md, with residuals measured anew
python -m tests.support.program_records --faults   put in one fault after the other, and tell which ones are found
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
TEST = "tests/models/test_solved_programs.py::test_the_program_is_the_stated_one_its_solution_solves_it_and_f_follows"


class Fault(NamedTuple):
    """A text that a file holds once, what it is replaced with, and what that means."""

    file: str
    before: str
    after: str
    meaning: str


class Record(NamedTuple):
    """The functions of `models/programs`, the largest residual of all cases, and the fault."""

    functions: str
    residual: float
    fault: Fault


RECORDS = {
    "SVC": Record("`dual_program`, `primal_program`, `signed_dual`", 8e-10, Fault(
        "margins/series.py", "return Joined(begins, which, signs, C, signs * q)",
        "return Joined(begins, which, signs, C, 2.0 * signs * q)", "linear term doubled")),
    "SVCCV": Record("the same", 3e-15, Fault(
        "svm/path.py", "machine.C = self.C_ = float(", "machine.C = self.C_ = 2.0 * float(", "C doubled")),
    "SVR": Record("the same", 2e-10, Fault(
        "svm/svr.py", "np.concatenate([self.epsilon - y, self.epsilon + y])",
        "np.concatenate([self.epsilon - y, self.epsilon - y])", "sign of y")),
    "NuSVC": Record("`nu_dual`, `signed_dual`", 2e-15, Fault(
        "svm/nu.py", "total = float(min(self.nu, most) * C.sum())",
        "total = float(0.5 * min(self.nu, most) * C.sum())", "nu halved")),
    "NuSVR": Record("`nu_dual`, `signed_dual`", 1e-15, Fault(
        "svm/nu.py", "total=float(self.nu * C.sum())", "total=float(0.5 * self.nu * C.sum())", "nu halved")),
    "OneClassSVM": Record("`one_class`", 3e-15, Fault(
        "svm/one_class.py", "one_class(K, c, float(self.nu))", "one_class(K, c, 0.5 * float(self.nu))", "nu halved")),
    "LinearSVC": Record("`linear_primal`, `linear_dual`", 3e-13, Fault(
        "linear/linear.py", "self.C * weights, is_squared, y) for y", "2.0 * self.C * weights, is_squared, y) for y",
        "C doubled")),
    "LinearSVR": Record("`linear_primal`, `linear_dual`", 4e-15, Fault(
        "linear/linear.py", "X, y, float(self.epsilon), self.C", "X, -y, float(self.epsilon), self.C", "sign of y")),
    "ExplanationAugmentedSVC": Record(
        "`explained_dual`, `dual_program`", 1e-9, Fault(
            "explanations/dual.py", "explained_dual(self.P, self.y, self.C, Q * self.share",
            "explained_dual(self.P, self.y, self.C, 2.0 * Q * self.share", "Q doubled")),
    "MultiTaskSVC": Record("`multi_task_dual`", 2e-14, Fault(
        "knowledge/tasks.py", "task[None, :])) / (2.0 * C1)", "task[None, :])) / C1", "quadratic term doubled")),
    "KnowledgeSVC": Record("`knowledge_program`", 7e-11, Fault(
        "knowledge/regions.py", "self.C * weights, regions", "self.C * weights, regions[1:]", "a region left out")),
    "MinimaxProbabilityClassifier": Record("`minimax_program`", 7e-12, Fault(
        "knowledge/moments.py", "self._direction(d / length", "self._direction(-d / length", "sign of a row")),
    "BilevelClassifier": Record(
        "`hyperplane_program`, `curved_program`, `gain_cone`", 8e-10, Fault(
            "bilevel/bilevel.py", "map(float, (self.phi, self.C1, C2, self.C3))",
            "map(float, (self.phi, 2.0 * self.C1, C2, self.C3))", "C1 doubled")),
    "MEDClassifier": Record("`med_program`, `med_newton_program`", 3e-15, Fault(
        "score_spaces/med.py", "return self.a - 1.0 / (self.c - multipliers)",
        "return self.a + 1.0 / (self.c - multipliers)", "sign in the linear term")),
    "MaxMarginScoreSpace": Record("`med_newton_program`", 3e-15, Fault(
        "score_spaces/mss.py", "discriminate(F, space.a, space.c", "discriminate(F, space.a, 2.0 * space.c",
        "c doubled")),
    "LargeMarginHMM": Record("`cutting_plane_program`", 1e-11, Fault(
        "score_spaces/large_margin_hmm.py", "cutting_plane_program(cuts, heights, start, C)",
        "cutting_plane_program(cuts, 2.0 * heights, start, C)", "linear term doubled")),
    "MedLDA": Record("`crammer_singer_dual`", 3e-12, Fault(
        "topics/medlda.py", "crammer_singer_dual(product_of(F), self.owner, self.C)",
        "crammer_singer_dual(product_of(F), self.owner, 2.0 * self.C)", "C doubled")),
    "LogisticRegression": Record("`separation_program`", 7e-13, Fault(
        "logistic/separation.py", "separation_program(loss.margins())", "separation_program(loss.margins()[1:])",
        "a row left out")),
    "HybridNaiveBayes": Record("`separation_program`", 2e-15, Fault(
        "logistic/hybrid.py", "self.terms[i, self.codes[i]] - self.terms[i, k]",
        "self.terms[i, self.codes[i]] + self.terms[i, k]", "sign of a term")),
}  # fmt: skip
METHODS = {  # every estimator has one
    "active set in series; large or hard: working set, interior points": ["SVC", "SVCCV", "SVR", "NuSVC", "NuSVR"],
    "working set, interior points": ["OneClassSVM", "MultiTaskSVC"],
    "the same, or coordinate descent if sparse": ["ExplanationAugmentedSVC"],
    "Newton steps in the primal; coordinate descent if wide": ["LinearSVC", "LinearSVR"],
    "interior points": ["KnowledgeSVC"],
    "interior points, then Newton steps": ["MinimaxProbabilityClassifier"],
    "interior points for the hyperplane, closed form for the means": ["BilevelClassifier"],
    "Newton steps, then one program; in rounds": ["MEDClassifier", "MaxMarginScoreSpace"],
    "cutting planes": ["LargeMarginHMM"],
    "working set in a variational loop": ["MedLDA"],
    "Newton steps; the program tells whether there is a minimum": ["LogisticRegression", "HybridNaiveBayes"],
}  # fmt: skip
WITHOUT = {  # a program
    "means and covariances": ["LinearDiscriminant", "QuadraticDiscriminant", "Prototypes", "JointGaussianRegressor"],
    "shares": ["MixedNaiveBayes", "MultinomialNaiveBayes"],
    "expectation maximization": ["DiscreteHMM", "GaussianHMM", "LatentDirichletAllocation"],
    "L-BFGS": ["CoupledDiscriminant", "FisherKernelLearning"],
    "expectations under models": ["FisherScore", "LogLikelihoodScore", "FreeEnergyScore", "SufficientStatistics"],
    "free energies": ["FreeEnergyClassifier"],
    "the best of both by cross-validation": ["ScoreSpaceClassifier"],
}  # fmt: skip


def row(name, residual):
    """Return the row of an estimator that solves a program."""
    functions, _, fault = RECORDS[name]
    return f"| `{name}` | {functions} | {residual:.0e} | {fault.meaning} (`{Path(fault.file).name}`) |"


def methods():
    """Return the rows of the methods."""
    tables = METHODS.items(), WITHOUT.items()
    return [f"| {method} | {', '.join(f'`{name}`' for name in names)} |" for rows in tables for method, names in rows]


def measured(name):
    """Return the largest residual of all cases of an estimator."""
    from tests.support.kkt import kkt
    from tests.support.solved_programs import CASES

    cases = [case() for key, case in CASES.items() if key.partition(",")[0] == name]
    return max(kkt(case.model.program_, case.model.solution_).worst for case in cases)


def is_found(name):
    """Return True if the estimator's test fails with its fault (`support/faulty.py`)."""
    options = ["-q", "-n", "0", "-p", "tests.support.faulty", "-p", "no:cacheprovider", f"{TEST}[{name}]"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1", "FAULT_OF": name}
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "pytest", *options], cwd=ROOT, env=environment, capture_output=True,
        timeout=600, check=False, text=True,
    )  # fmt: skip
    assert run.returncode in (0, 1), run.stdout + run.stderr
    return run.returncode == 1


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--faults", action="store_true")
    if parser.parse_args().faults:
        for name in RECORDS:
            print(f"{name}: {RECORDS[name].fault.meaning}: {'found' if is_found(name) else 'NOT FOUND'}", flush=True)
        return
    print("\n".join([*(row(name, measured(name)) for name in RECORDS), *methods()]))


if __name__ == "__main__":
    main()
