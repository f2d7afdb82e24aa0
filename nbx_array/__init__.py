"""The Python array API standard, every function a Triton kernel over our own device memory."""
