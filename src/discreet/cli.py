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


def main() -> None:
    """Run the command line.

    Examples
    --------
    >>> from typer.testing import CliRunner
    >>> CliRunner().invoke(app, ["--version"]).output.startswith("discreet ")
    True
    """
    app()
