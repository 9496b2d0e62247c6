"""Every compiled function: arrays in, arrays out, the caller allocates; slow twins are in tests/naive.py."""
