"""What stands in a tree of cells instead of a child, for the trees and for the kernels that walk them."""

NONE, UNKNOWN = -1, -2
"""There is no such half, or nobody has looked yet."""
