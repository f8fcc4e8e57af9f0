"""How the shipped locks would do on a machine that isn't here, by the cost model."""
