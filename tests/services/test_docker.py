"""The container files agree with the project; no image is built here."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import yaml

from saber_resources.settings import WORKDIR_VARIABLE, Workdir
from saber_services.cli.main import VERBS

ROOT = Path(__file__).parents[2]
COMPOSE = yaml.safe_load((ROOT / "docker" / "compose.yaml").read_text())
SERVICES = COMPOSE["services"]
DOCKERFILE = (ROOT / "docker" / "Dockerfile").read_text()


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_ports_are_published_on_loopback_only(name):
    for port in SERVICES[name].get("ports", []):
        assert port.startswith("127.0.0.1:")
    assert SERVICES[name].get("network_mode") is None


def test_the_language_model_is_optional_and_not_published():
    assert SERVICES["vllm"]["profiles"] == ["gpu"]
    assert "ports" not in SERVICES["vllm"]


@pytest.mark.parametrize("name", ["prepare", "webserver", "daemon", "saber"])
def test_services_share_one_workdir(name):
    service = SERVICES[name]
    workdir = Workdir(Path(service["environment"][WORKDIR_VARIABLE]))
    assert service["environment"]["DAGSTER_HOME"] == str(workdir.dagster_home)
    assert service["image"] == "saber"
    assert f"data:{workdir.root}" in service["volumes"]
    assert f"{WORKDIR_VARIABLE}={workdir.root}" in DOCKERFILE


@pytest.mark.parametrize("name", ["webserver", "daemon"])
def test_code_location_is_the_projects(name):
    tool = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["dagster"]
    assert SERVICES[name]["command"][-2:] == ["-m", tool["module_name"]]


def test_volumes_are_declared():
    used = {volume.split(":")[0] for service in SERVICES.values() for volume in service["volumes"]}
    assert used == set(COMPOSE["volumes"])


def test_image_copies_everything_that_the_package_is_built_from():
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]
    wheel = build["targets"]["wheel"]
    ignore = (ROOT / "docker" / "Dockerfile.dockerignore").read_text().splitlines()
    for name in [*wheel["packages"], *wheel["force-include"], "pyproject.toml"]:
        assert re.search(rf"^COPY .*\b{re.escape(name)}\b", DOCKERFILE, re.MULTILINE)
        assert f"!{name}" in ignore
    assert DOCKERFILE.index("USER saber") > DOCKERFILE.index("pip install")


def test_commands_of_the_readme_exist():
    text = (ROOT / "docker" / "README.md").read_text()
    used = re.findall(r"run --rm (?:-v \S+ )?saber (\w+)", text)
    assert used
    assert set(used) <= set(VERBS)
