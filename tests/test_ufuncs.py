"""The methods of element-wise functions of two operands against NumPy's: a table of calls, made of every function."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest

BINARY = sorted(
    name
    for name in dir(np)
    if isinstance(f := getattr(np, name), np.ufunc) and (f.nin, f.nout) == (2, 1) and f.signature is None
    if f.__name__ == name
)
DATA = {
    "int64": np.array([[3, -1, 4, 1], [-5, 2, 2, 6], [5, 3, -5, 0]]),
    "float64": np.array([[3.5, -1.25, 4.0, 1.0], [-5.0, 2.25, 0.0, 6.0], [5.0, np.nan, -0.5, 3.0]]),
    "uint8": np.array([[3, 1, 4, 1], [5, 9, 2, 6], [5, 3, 5, 0]], np.uint8),
    "bool": np.array([[1, 0, 1, 1], [0, 1, 1, 0], [1, 1, 0, 0]], bool),
}
MASK = np.array([[1, 0, 1, 1], [0, 0, 1, 0], [1, 0, 0, 1]], bool)
WAYS = {
    "reduce": [
        *({}, {"axis": 1}, {"axis": -2, "keepdims": True}, {"axis": None}, {"axis": (0, 1)}, {"axis": ()}),
        *({"axis": None, "keepdims": True}, {"axis": 1, "initial": 1}, {"where": MASK}, {"initial": 2, "where": MASK}),
        *({"axis": 1, "dtype": np.float64}, {"dtype": np.int64}, {"initial": None}, {"axis": 2}, {"axis": (0, 0)}),
    ],
    "accumulate": [{}, {"axis": 1}, {"axis": -2}, {"axis": (1,)}, {"axis": None}, {"axis": 2}, {"dtype": np.float64}],
    "reduceat": [
        *({"indices": [0, 2]}, {"indices": [0, 0, 1, 1, 2], "axis": 1}, {"indices": [3, 1, 2, 0], "axis": 1}),
        *({"indices": [0, 3]}, {"indices": [0, -1]}, {"indices": []}, {"indices": [[0]]}, {"indices": [True, False]}),
        *({"indices": [1], "axis": 2}, {"indices": [1], "axis": None}, {"indices": [0, 1], "dtype": np.float64}),
        *({"indices": [2, 0], "axis": (1,)}, {"indices": np.array([0.0, 1.0])}),
    ],
    "at": [
        *({"indices": [0, 0, 2, 0], "b": 2}, {"indices": [-1, -1, 0], "b": DATA["int64"][0]}, {"indices": [3], "b": 1}),
        *({"indices": ([-1, -1, 0], [1, 1, -4]), "b": [1, 2, 3]}, {"indices": [-4], "b": 1}, {"indices": 1, "b": 3}),
        *({"indices": np.zeros(0, int), "b": 1}, {"indices": slice(1, None), "b": 2}, {"indices": MASK, "b": 3}),
        *(
            {"indices": (slice(None), [0, 0, 1]), "b": 2},
            {"indices": (..., [0, 0]), "b": 1.5},
            {"indices": [0.5], "b": 1},
        ),
        *({"indices": [[0, 1], [0, 0]], "b": [1, 2, 3, 4]}, {"indices": [0, 1], "b": [1, 2, 3]}, {"indices": [0]}),
    ],
}
"""How each method is called."""

OPERANDS = {
    "all": lambda a: a,
    "turned": lambda a: a.T[::-1],
    "one": lambda a: a[:1],
    "none": lambda a: a[:0],
    "scalar": lambda a: a[0, 0],
}
ROUNDED = {"logaddexp", "logaddexp2", "hypot", "arctan2", "power", "float_power"}
ROUNDED |= {"multiply", "divide", "add", "subtract"}
WIDER = {"arctan2", "copysign", "heaviside", "hypot", "logaddexp", "logaddexp2", "nextafter", "ldexp"}
"""Of bools and small integers they are float64, as documented; NumPy's are float16."""
OF_INTEGERS = {"bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift", "gcd", "lcm"}
OF_INTEGERS |= {"floor_divide"}  # of infinite floats it is the standard's, and not NumPy's
NO_SUCH = {("bitwise_and", "float64"), ("left_shift", "float64"), ("left_shift", "bool"), ("subtract", "bool")}
NO_SUCH |= {("power", "int64")}  # negative powers are refused only where the exponent is a number
OF_EACH_KIND = ["add", "subtract", "power", "maximum", "logical_xor", "bitwise_and", "left_shift", "less"]
"""What is tried in all dtypes: a function of each kind."""
APART = {"ldexp", "arctan2"}  # NumPy 2.5's arctan2 does not reduce from left to right where there is AVX-512
CASES = [(name, "int64" if name in OF_INTEGERS else "float64") for name in BINARY if name not in APART]
CASES += [(name, dtype) for name in OF_EACH_KIND for dtype in DATA if (name, dtype) not in {*CASES, *NO_SUCH}]


def called(module, name, way, x, options):
    """What a method returns, or for `at` what it leaves; or its error."""
    options = {k: module.asarray(v) if isinstance(v, np.ndarray) else v for k, v in options.items()}
    with np.errstate(all="ignore"):
        try:
            if way != "at":
                return getattr(getattr(module, name), way)(x, **options)
            operand = module.asarray(x, copy=True)
            getattr(module, name).at(operand, *options.values())
            return operand
        except Exception as error:
            return error


def difference(name, called, got, wanted, backend):
    """None, or what is wrong. name: NumPy's; called: ours."""
    if isinstance(wanted, Exception) or isinstance(got, Exception):
        kinds = (IndexError, ValueError, TypeError)  # AxisError is the first two
        kind = next((kind for kind in kinds if isinstance(wanted, kind)), type(wanted))
        # a GPU says at a synchronising call that an index was wrong, and not of which function
        late = backend != "cpu" and "index is out of bounds" in str(got)
        named = called in str(got) or (kind is IndexError and late)
        return None if isinstance(got, kind) and named else f"{got!r} for {wanted!r}"
    got, wanted = np.asarray(got), np.asarray(wanted)
    dtype = np.float64 if name in WIDER and wanted.dtype == np.float16 else wanted.dtype
    if got.shape != wanted.shape or got.dtype != dtype:
        return f"{got.dtype}{got.shape} for {wanted.dtype}{wanted.shape}"
    tolerance = 1e-2 if wanted.dtype == np.float16 else 1e-12 if name in ROUNDED else 0
    near = np.allclose(got, wanted, rtol=tolerance, atol=tolerance * 1e-3, equal_nan=True)
    return None if near else f"{got.tolist()} for {wanted.tolist()}"


@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_methods(xp, device, name, dtype):
    """Values, shapes, dtypes and the types of errors, of all keywords and of awkward operands."""
    found = []
    for way, calls in WAYS.items():
        for number, options in enumerate(calls):
            for kind, part in OPERANDS.items():
                if kind != "all" and (number > 3 or (way == "at" and kind != "turned")):
                    continue
                if name == "power" and options.get("dtype") is np.int64:
                    continue
                if way == "at" and (name == "power" or "shift" in name) and dtype != "float64":
                    options = options | ({"b": 2} if "b" in options else {})  # negative ones are errors, or undefined
                # With AVX-512 NumPy's power of floats does not reduce from left to right (2.4, 2.5); float_power does.
                floats = name == "power" and np.float64 in (DATA[dtype].dtype, options.get("dtype"))
                wanted = called(np, "float_power" if floats else name, way, part(DATA[dtype]), options)
                got = called(xp, name, way, part(xp.asarray(DATA[dtype])), options)
                if (problem := difference(name, getattr(xp, name).name, got, wanted, device.backend)) is not None:
                    found.append(f"{name}.{way}({kind} {dtype}, {options}): {problem}")
    assert not found, "\n".join(found)


def test_angles_are_reduced_from_left_to_right(xp):
    rows = [[3.5, -1.25, 4.0, 1.0], [-5.0, 2.25, 0.0, 6.0], [0.25, -0.0, 2.0, -1.0]]
    got = xp.asnumpy(xp.arctan2.reduce(xp.asarray(rows), axis=1))
    np.testing.assert_allclose(got, [functools.reduce(math.atan2, row) for row in rows], rtol=1e-14)
