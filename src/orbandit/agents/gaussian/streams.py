"""Streams: what marks the seeds of draws for one purpose; those of rounds never contain a mark."""

DESIGN_STREAM = 2**32
"""The initial design."""
IMAGE_STREAM = 2**32 + 1
"""Random images."""
EVOLUTION_STREAM = 2**32 + 2
"""Draws of the evolution strategy."""
