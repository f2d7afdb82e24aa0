raise ImportError("triton is blocked, to show that a filled cache does without it")
