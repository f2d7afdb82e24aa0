"""Imports point down, and the packages that we import are the ones that we declare."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
FOLDERS = PROJECT["tool"]["setuptools"]["package-dir"]

# Each floor and what it may import, itself included. A longer name stands for a floor of its own.
MAY_IMPORT = {
    "nbx_array": ("nbx_array", "nbx_array.kernels", "nbx_array.memory", "nbx_array.backend"),
    "nbx_array.kernels": ("nbx_array.kernels", "nbx_array.memory", "nbx_array.backend"),
    "nbx_array.kernels.source": ("nbx_array.kernels.source",),
    "nbx_array.memory": ("nbx_array.memory", "nbx_array.backend"),
    "nbx_array.backend": ("nbx_array.backend",),
    "nbx_array.conformance": ("nbx_array.conformance", "nbx_array"),
}

# Third-party packages that need more than the declared dependencies, and who may import them.
EXTRAS = {
    "nbx_array._demo": {"array_api_compat", "rich", "scipy", "sklearn"},
    "nbx_array.backend.metal.api": {"Metal", "objc"},
    "nbx_array._numpy_products": {"opt_einsum"},
}
DISTRIBUTION_TO_MODULE = {"pyyaml": "yaml"}


def modules() -> dict[str, Path]:
    """Every module of the library by its import name."""
    found = {}
    for package, folder in FOLDERS.items():
        for path in (ROOT / folder).glob("*.py"):
            found[package if path.stem == "__init__" else f"{package}.{path.stem}"] = path
    return found


MODULES = modules()


def floor(name: str) -> str:
    """The floor on which the module ``name`` stands."""
    return max((f for f in MAY_IMPORT if name == f or name.startswith(f + ".")), key=len)


def imports(name: str) -> set[str]:
    """The modules that the module ``name`` imports anywhere in its text, by name or by a constant string."""
    path = MODULES[name]
    package = name if path.stem == "__init__" else name.rpartition(".")[0]
    found = set()
    for node in ast.walk(ast.parse(path.read_text(), str(path))):
        match node:
            case ast.Import(names=names):
                found.update(alias.name for alias in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                parts = package.split(".")[: 1 - level or None] if level else []
                base = ".".join([*parts, *([module] if module else [])])
                # `from package import name` imports the module package.name where there is one
                found.update(f"{base}.{a.name}" if f"{base}.{a.name}" in MODULES else base for a in names)
            case ast.Call(func=ast.Name(id="__import__") | ast.Attribute(attr="import_module"), args=args):
                found.update(a.value for a in args[:1] if isinstance(a, ast.Constant))
    return found


def test_every_package_is_found():
    """A package that pyproject.toml does not list would be left out of the wheel and of these tests."""
    top = {folder.split("/")[0] for folder in FOLDERS.values()}
    folders = {str(path.parent.relative_to(ROOT)) for name in top for path in (ROOT / name).rglob("*.py")}
    assert folders == set(FOLDERS.values())
    assert set(PROJECT["tool"]["setuptools"]["packages"]) == set(FOLDERS)


@pytest.mark.parametrize("name", sorted(MODULES))
def test_imports_point_down(name):
    own = {target for target in imports(name) if target.split(".")[0] == "nbx_array"}
    up = {target for target in own if floor(target) not in MAY_IMPORT[floor(name)]}
    assert not up, f"{name} imports {up}, which its floor may not import"
    private = {target for target in own if "._" in target and floor(target) != floor(name)}
    assert not private, f"{name} imports {private}, private to another floor"


@pytest.mark.parametrize("name", sorted(MODULES))
def test_third_party_imports_are_declared(name):
    third_party = {t.split(".")[0] for t in imports(name)} - {"nbx_array", *sys.stdlib_module_names}
    required = (re.match(r"[\w-]+", requirement)[0].lower() for requirement in PROJECT["project"]["dependencies"])
    allowed = {DISTRIBUTION_TO_MODULE.get(r, r) for r in required} - {"triton"} | EXTRAS.get(name, set())
    if name == "nbx_array.backend.compiler" or floor(name) == "nbx_array.kernels.source":
        allowed.add("triton")  # everything else reaches triton through the compiler, which imports it lazily
    if floor(name) == "nbx_array.conformance":
        return  # it exists to import other people's suites
    assert third_party <= allowed, f"{name} imports {third_party - allowed}"
