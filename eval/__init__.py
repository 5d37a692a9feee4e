"""Evaluation: benchmarks, baselines, the run, the tables and the report. Stands beside the library."""
