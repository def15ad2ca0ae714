"""Fakes of all that is outside, and what the application makes of them."""

import pytest

from shared.intake import Intake
from shared.services import Services
from tests.support.application import build_intake, build_services
from tests.support.fakes import World


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def services(world: World) -> Services:
    return build_services(world)


@pytest.fixture
def intake(services: Services) -> Intake:
    return build_intake(services)
