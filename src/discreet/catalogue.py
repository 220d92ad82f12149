"""Where everything of the source documents is: one row per thing that a user can call.

Solvers are read from their registry; the rest is listed here, and a test checks that every row leads somewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from discreet import solvers

__all__ = ["Entry", "entries", "table"]

RELATIONS = "zero_out, add_remove, replace_one"


@dataclass(frozen=True)
class Entry:
    """One thing of the sources, and where to find it.

    Examples
    --------
    >>> entries()[0].source
    '000'
    """

    source: str
    thing: str
    where: str
    event: str
    proof: str
    test: str
    relations: str = RELATIONS
    string: str = ""


_EVENTS = {
    "adaptive_gradient_descent": "zCDP filter over Gaussians and selections",
    "calibrated": "the inner solver's, and the perturbed minimum's own dominating pair",
    "class_means": "one K-norm (or Gaussian) vector and one histogram",
    "coordinate_descent": "Gaussians, one per coordinate step",
    "frank_wolfe": "bounded-range selections (or Gaussians)",
    "greedy_coordinate_descent": "bounded-range selections and Gaussians",
    "gradient_descent": "Gaussians",
    "heavy_tailed_peeling": "one part's selections and Gaussian",
    "iterative_hard_thresholding": "Gaussians",
    "newton": "Gaussians",
    "objective_perturbation": "the perturbed minimum's own dominating pair",
    "output_perturbation": "one Gaussian",
    "peeling": "bounded-range selections and Gaussians",
    "selected_objective_perturbation": "bounded-range selections and the perturbed minimum's own dominating pair",
    "sgd": "Poisson-sampled Gaussians",
    "steep_objective_perturbation": "the perturbed minimum's own dominating pair",
    "sufficient_statistics": "Gaussians",
    "svrg": "Gaussians and Poisson-sampled Gaussians",
    "whitened_gradient_descent": "Gaussians",
    "whitened_objective_perturbation": "one Gaussian and the perturbed minimum's own dominating pair",
    "whitened_regression": "Gaussians and the perturbed minimum's own dominating pair",
    "whitened_poisson": "Gaussians and the perturbed minimum's own dominating pair",
}
_SOURCES = {
    "adaptive_gradient_descent": "003",
    "calibrated": "beyond",
    "class_means": "beyond",
    "coordinate_descent": "004",
    "greedy_coordinate_descent": "004",
    "newton": "beyond",
    "selected_objective_perturbation": "beyond",
    "sgd": "001",
    "steep_objective_perturbation": "beyond",
    "sufficient_statistics": "beyond",
    "svrg": "004",
    "whitened_gradient_descent": "beyond",
    "whitened_objective_perturbation": "beyond",
    "whitened_regression": "beyond",
    "whitened_poisson": "beyond",
}


def _solver_entries() -> list[Entry]:
    rows = []
    for name in solvers.names():
        solver = solvers.by_name(name)
        rows.append(
            Entry(
                _SOURCES.get(name, "000"),
                solver.reference,
                f"solvers/{name}.py",
                _EVENTS.get(name, "see the proof page"),
                solver.proof,
                "tests/audit/test_solvers.py",
                string=f'solver="{name}"',
            )
        )
    return rows


_GAUSSIAN = "GaussianDpEvent"
_NONE = "none (no data)"
_OTHERS = [
    Entry("000", "Minkowski norm, dual norm, Gaussian width with its two facts", "theory:minkowski_norm", _NONE,
          "proofs/theory.md", "tests/laws/test_penalties.py"),
    Entry("000", "Utility bounds of Theorems 16.3, 16.5, 16.6, 16.9", "theory:theorem_16_9", _NONE,
          "proofs/theory.md", "tests/theory/test_errata.py"),
    Entry("000", "Peeling (Algorithm 5) as a mechanism", "mechanisms:Peeling", "bounded-range selections, Gaussian",
          "proofs/peeling.md", "tests/mechanisms/test_noisy_top_k.py"),
    Entry("001", "Private mean, coordinate-wise and of vectors; pure and zCDP", "moments:mean", "Gaussian or Laplace",
          "proofs/moments.md", "tests/moments/test_moments.py"),
    Entry("001", "Covariance and second moments", "moments:covariance", "Gaussian or Laplace",
          "proofs/moments.md", "tests/moments/test_moments.py"),
    Entry("001", "Mean and covariance with loose bounds only (CoinPress)", "moments:coinpress_mean", _GAUSSIAN,
          "proofs/coinpress.md", "tests/moments/test_coinpress.py"),
    Entry("001", "Private hypothesis selection for small dimensions", "moments:gaussian_by_selection",
          "one pure selection", "proofs/hypothesis_selection.md", "tests/moments/test_hypotheses.py"),
    Entry("001", "Local mean: truncation and Laplace noise", "local:TruncatedLaplace", "PureDpEvent per person",
          "proofs/local.md", "tests/local/test_randomizers.py", "replace_one"),
    Entry("001", "Randomised response, binary and k-ary", "local:KaryResponse", "PureDpEvent per person",
          "proofs/randomized_response.md", "tests/mechanisms/test_randomized_response.py", "replace_one"),
    Entry("001", "Local means of vectors", "local:PrivUnit", "PureDpEvent per person", "proofs/local.md",
          "tests/local/test_randomizers.py", "replace_one"),
    Entry("001", "Shuffling with amplification", "local:Shuffler", "shuffled reports", "proofs/shuffling.md",
          "tests/accounting/test_shuffling.py", "replace_one"),
    Entry("001", "Subsampling lemma, as printed and corrected", "accounting:subsampling", "PoissonSampledDpEvent",
          "proofs/subsampling.md", "tests/accounting/test_subsampling.py"),
    Entry("001", "Moments accountant", "accounting:rdp", "any", "proofs/accounting.md",
          "tests/accounting/test_conversions.py"),
    Entry("001", "Basic and advanced composition", "accounting:composition", "pure or approximate events",
          "proofs/composition.md", "tests/accounting/test_conversions.py"),
    Entry("001", "Amplification by iteration for contractive steps", "accounting:iteration", _GAUSSIAN,
          "proofs/iteration.md", "tests/accounting/test_iteration.py"),
    Entry("002", "Private LASSO", "linear_model:LinearRegression", "bounded-range selections", "proofs/frank_wolfe.md",
          "tests/solvers/test_frank_wolfe.py", string='penalty=L1Ball(r), solver="frank_wolfe"'),
    Entry("002", "Step count T, curvature constants, Remark 1", "theory:frank_wolfe_steps", _NONE, "proofs/theory.md",
          "tests/theory/test_frank_wolfe.py"),
    Entry("002", "Theorems 2.5 and 2.6, Corollary 2.7 as bounds", "theory:theorem_2_6", _NONE, "proofs/theory.md",
          "tests/theory/test_errata.py"),
    Entry("002", "Lower-bound instance and the tracing attack on it", "theory:fingerprinting_instance", _NONE,
          "proofs/theory.md", "tests/theory/test_rest.py"),
    Entry("003", "Noisy min over clipped losses", "mechanisms:NoisyMax", "PureDpEvent", "proofs/selection.md",
          "tests/mechanisms/test_noisy_max.py"),
    Entry("003", "zCDP filter", "accounting:filters", "any with a rho", "proofs/filters.md",
          "tests/accounting/test_filters.py"),
    Entry("004", "Utility table: Delta_M, R_M, mu_M and their ratio", "theory:utility_table", _NONE, "proofs/theory.md",
          "tests/theory/test_rest.py"),
    Entry("004", "Synthetic designs: lognormal, balanced, first coordinate big", "datasets:make_coordinate_regression",
          _NONE, "proofs/theory.md", "tests/test_datasets.py"),
    Entry("beyond", "Private bounds", "estimators.bounds:BoundsBuyer", _GAUSSIAN, "proofs/private_bounds.md",
          "tests/estimators"),
    Entry("beyond", "Many rows per person", "estimators.people:People", "the row's event, k times", "proofs/people.md",
          "tests/estimators/test_people.py"),
    Entry("beyond", "Schemas: bounds, categories, missing values", "preprocessing:Schema", "selections or Gaussians",
          "proofs/people.md", "tests/preprocessing/test_schema.py"),
    Entry("beyond", "Label sets that are bought", "mechanisms:LabelSet", "ApproximateDpEvent", "proofs/label_set.md",
          "tests/mechanisms/test_label_set.py", string='classes="private"'),
    Entry("beyond", "Distinguishing audit", "audit:audit", "any", "proofs/audit.md",
          "tests/audit/test_distinguishing.py"),
]  # fmt: skip


def entries() -> list[Entry]:
    """Every row, by source.

    >>> {"002"} <= {entry.source for entry in entries()}
    True
    """
    return sorted([*_solver_entries(), *_OTHERS], key=lambda e: e.source)


def table() -> str:
    """The rows as a table in Markdown.

    >>> table().splitlines()[0].startswith("| source | thing |")
    True
    """
    head = "| source | thing | where | string | relations | event | proof | test |"
    rows = [head, "|" + "---|" * 8]
    rows += [
        f"| {e.source} | {e.thing} | `{e.where}` | {_code(e.string)} | {e.relations} | {e.event} | "
        f"[{e.proof[7:-3]}]({e.proof}) | `{e.test}` |"
        for e in entries()
    ]
    return "\n".join(rows)


def _code(text: Any) -> str:
    return f"`{text}`" if text else ""
