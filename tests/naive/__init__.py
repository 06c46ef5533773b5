"""Oracles: slow, plain versions of what the kernels compute, importing nothing of what they judge."""
