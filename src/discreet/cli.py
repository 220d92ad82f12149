"""The command ``discreet``: thin; every command is a few lines over the library."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["app", "main"]

app = typer.Typer(
    name="discreet",
    help="Differentially private linear models.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_show_locals=False,  # a traceback with local variables would print rows
)


def _version(asked: bool) -> None:
    if asked:
        from discreet import __version__

        typer.echo(f"discreet {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and stop.")
    ] = False,
) -> None:
    """Differentially private linear models."""


@app.command()
def datasets() -> None:
    """List the data sets and designs that come with the package."""
    from discreet import datasets as module

    for name in module.__all__:
        if name.startswith(("load_", "make_")):
            summary = (getattr(module, name).__doc__ or "").strip().splitlines()[0]
            typer.echo(f"{name:30} {summary}")


@app.command()
def demo(
    epsilon: Annotated[float, typer.Option(help="The privacy budget; a smaller one promises more.")] = 1.0,
) -> None:
    """Train a private model on bundled census data; say what it promised and how it compares."""
    import time

    from rich.console import Console
    from rich.table import Table
    from sklearn.linear_model import LogisticRegression as Plain
    from sklearn.metrics import roc_auc_score

    from discreet.datasets import load_adult
    from discreet.estimators import LogisticRegression

    console, data = Console(highlight=False, soft_wrap=True), load_adult()
    train, test, y_train, y_test = data.split()
    console.print("Does a person earn above 50,000 dollars a year?")
    console.print(
        f"{len(y_train)} persons to learn from, {len(y_test)} others to test on, {data.X.shape[1]} columns.\n"
    )
    start = time.perf_counter()
    model = LogisticRegression(epsilon=epsilon, bounds=data.bounds).fit(train, y_train)
    seconds = time.perf_counter() - start
    scaled = data.scaled()
    plain = Plain(max_iter=1000).fit(scaled[: data.n_train], y_train)
    rows = [
        ("always the same answer", max(y_test.mean(), 1 - y_test.mean()), 0.5),
        (
            f"discreet, epsilon {epsilon:g}",
            model.score(test, y_test),
            roc_auc_score(y_test, model.decision_function(test)),
        ),
        (
            "scikit-learn, not private",
            plain.score(scaled[data.n_train :], y_test),
            roc_auc_score(y_test, plain.decision_function(scaled[data.n_train :])),
        ),
    ]
    table = Table("model", "accuracy", "AUC")
    for name, accuracy, auc in rows:
        table.add_row(name, f"{accuracy:.3f}", f"{auc:.3f}")
    console.print(table)
    console.print(f"The private fit took {seconds:.2f} s.  What it promised:\n")
    console.print(str(model.privacy_), markup=False)
    console.print("\nThe test persons are published data: scores on people who need protecting are releases, too.")


def main() -> None:
    """Run the command line.

    Examples
    --------
    >>> from typer.testing import CliRunner
    >>> CliRunner().invoke(app, ["--version"]).output.startswith("discreet ")
    True
    """
    app()
