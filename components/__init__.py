"""Kubeflow components: each a thin step over one stage of the library."""
