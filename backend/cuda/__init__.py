"""NVIDIA GPUs: `api` binds libcuda, `driver` presents it as `nbx_array.backend.contract.Driver`."""

from .driver import CudaDriver, open_driver

__all__ = ["CudaDriver", "open_driver"]
