"""Fakes of all that is outside, and services over them."""

import pytest

from shared.services import Services
from tests.support.application import build_services
from tests.support.fakes import World


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def services(world: World) -> Services:
    return build_services(world)
