"""What clients are told of a broker's address."""

import pytest

from devhost.servicebus.sas import SharedKey
from devhost.servicebus.server import connection_string


@pytest.mark.parametrize(
    ("host", "endpoint"),
    [
        ("127.0.0.1", "sb://127.0.0.1:5672"),
        ("localhost", "sb://localhost:5672"),
        ("::1", "sb://[::1]:5672"),
    ],
)
def test_a_connection_string_names_the_host_as_in_a_url(host: str, endpoint: str) -> None:
    assert connection_string(host, 5672, SharedKey("Root", "secret")) == (
        f"Endpoint={endpoint};SharedAccessKeyName=Root;SharedAccessKey=secret;UseDevelopmentEmulator=true;"
    )
