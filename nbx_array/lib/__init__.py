"""NumPy's `lib`: what programs use of it."""

from nbx_array.lib import stride_tricks as stride_tricks
