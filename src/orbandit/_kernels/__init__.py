"""Every compiled function: arrays in, arrays out, the caller allocates. Each has a slow twin in tests/naive.py."""
