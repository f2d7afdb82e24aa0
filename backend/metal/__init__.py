"""Apple's GPUs: `emit` writes kernels in Metal's language, `api` is Metal by pyobjc, `driver` presents it as
`nbx_array.backend.contract.Driver`."""

from .driver import MetalDriver, open_driver

__all__ = ["MetalDriver", "open_driver"]
