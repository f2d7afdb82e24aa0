raise RuntimeError("torch was imported, and nbx_array does without it")
