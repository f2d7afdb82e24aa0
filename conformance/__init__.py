"""Other people's test suites, run on this library: ``python -m nbx_array.conformance --help``.

Each suite runs under pytest with one of the plugins here and is never edited: `array_api_plugin` for
data-apis/array-api-tests, `scipy_plugin` and `sklearn_plugin` for the array-API tests that SciPy and scikit-learn ship
in their wheels. `recorder` writes down what came of every test, `results` makes JSON and the README's table of it.
"""
