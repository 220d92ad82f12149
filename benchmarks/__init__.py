"""Measurements: each module runs as ``python -m benchmarks.NAME [--quick]`` and ends with one JSON object."""
