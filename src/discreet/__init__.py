"""Differentially private linear models."""
