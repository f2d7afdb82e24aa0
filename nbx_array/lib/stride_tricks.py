"""NumPy's `lib.stride_tricks`."""

from nbx_array._numpy_shapes import as_strided, sliding_window_view

__all__ = ["as_strided", "sliding_window_view"]
