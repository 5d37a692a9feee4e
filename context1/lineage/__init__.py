"""What was made from what: stages' outputs, MLflow runs and registered models as one graph, by id."""
