"""A module of the program's own: its NumPy is served, too."""

import numpy as np
from numpy.linalg import norm


def total(a):
    assert type(a) is type(np.ones(2))
    return norm(a) + np.asarray(a).sum()
