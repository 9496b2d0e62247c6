"""What stands in a tree of cells instead of a child, and what is known of a cell; for trees and the kernels on them."""

NONE, UNKNOWN = -1, -2
"""There is no such half, or nobody has looked yet."""

ROOT = 0
"""The number of the cell that holds all others."""

SUM, COUNT, PENDING = 0, 1, 2
"""The first columns of statistics: the sum and number of rewards of a cell, and how many more are
pending."""
