"""Predicted times against measured ones, on the device at hand; see `verify.timings.__main__`."""
