"""What pictures are drawn with, and the picture of a search; they need the extra `orbandit[plot]`.

It lies below `optimize` and `reports`, which both draw, and sees spaces, groups and histories only.
"""
