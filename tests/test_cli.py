"""The command line: thin, quiet about rows, honest about what it can do."""

from __future__ import annotations

import subprocess
import sys

from typer.testing import CliRunner

import discreet
from discreet import datasets
from discreet.cli import app


def invoke(*arguments: str):
    return CliRunner().invoke(app, list(arguments))


def test_version():
    assert invoke("--version").output.strip() == f"discreet {discreet.__version__}"


def test_datasets_lists_every_loader():
    shown = invoke("datasets").output
    assert all(name in shown for name in datasets.__all__ if name.startswith(("load_", "make_")))


def test_no_arguments_shows_the_commands():
    assert "datasets" in invoke().output


def test_unknown_commands_fail():
    assert invoke("fly").exit_code != 0


def test_help_does_not_import_the_numerical_stack():
    code = "import sys, discreet.cli; print([m for m in ('numpy', 'sklearn', 'numba', 'scipy') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_demo_says_what_it_promised_and_how_it_compares():
    done = invoke("demo", "--epsilon", "2")
    assert done.exit_code == 0, done.output
    lines = done.output.splitlines()
    scores = {line.split("│")[1].strip(): float(line.split("│")[2]) for line in lines if line.startswith("│")}
    assert list(scores) == ["always the same answer", "discreet, epsilon 2", "scikit-learn, not private"]
    assert any("epsilon = 2" in line for line in lines)
    assert any("zero_out" in line for line in lines)
    # the noise is fresh in every run; at this budget its effect on 16281 answers is far below one hundredth
    assert scores["discreet, epsilon 2"] > scores["always the same answer"] - 0.01
