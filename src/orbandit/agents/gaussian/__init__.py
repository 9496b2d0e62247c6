"""Models of rewards as Gaussian processes on the quotient X/G."""
