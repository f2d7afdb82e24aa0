"""AMD GPUs: `api` binds libamdhip64, `driver` presents it as `nbx_array.backend.contract.Driver`."""

from .driver import HipDriver, open_driver

__all__ = ["HipDriver", "open_driver"]
