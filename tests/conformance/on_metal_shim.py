"""data-apis/array-api-tests on a Metal of host memory: ``python tests/conformance/on_metal_shim.py SUITE EXAMPLES``."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from nbx_array.conformance import __main__ as command
from nbx_array.conformance import suites

DEVICES = Path(__file__).parents[1] / "backend"


def main() -> int:
    sys.path.insert(0, str(DEVICES))
    import fake_metal

    fake_metal.install(pytest.MonkeyPatch(), fake_metal.FakeMetal(memory=1 << 32))
    os.environ["PYTHONPATH"] = os.pathsep.join([str(DEVICES), *filter(None, [os.environ.get("PYTHONPATH")])])
    (run,) = suites.array_api_tests(Path(sys.argv[1]), [int(sys.argv[2])], "metal:0", None)
    run = run._replace(
        arguments=["-p", "fake_metal", *run.arguments],
        settings=run.settings | {"device": "CPU shim"},
        command=f"python tests/conformance/on_metal_shim.py PATH {sys.argv[2]}",
    )
    return suites.execute(run, os.cpu_count() or 1, command.RESULTS)


if __name__ == "__main__":
    sys.exit(main())
