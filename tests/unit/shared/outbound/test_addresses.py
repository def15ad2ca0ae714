"""Which IP addresses are public."""

from ipaddress import IPv4Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.outbound.addresses import is_public, read_address

PRIVATE = [
    "0.0.0.0",
    "0.255.255.255",
    "10.0.0.1",
    "100.64.0.1",
    "100.100.100.200",
    "100.127.255.255",
    "127.0.0.1",
    "127.255.255.254",
    "168.63.129.16",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.170",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.51.100.7",
    "203.0.113.7",
    "224.0.0.1",
    "239.255.255.255",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::10.0.0.1",
    "::8.8.8.8",
    "::ffff:10.0.0.1",
    "::ffff:169.254.169.254",
    "64:ff9b::10.0.0.1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::8.8.8.8",
    "100::1",
    "2001::1",
    "2001:0:4136:e378:8000:63bf:3fff:fdd2",
    "2001:db8::1",
    "2002:0a00:0001::1",
    "3fff::1",
    "5f00::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fe80::1%eth0",
    "2606:4700::1%eth0",
    "fec0::1",
    "ff02::1",
]
PUBLIC = [
    "1.1.1.1",
    "8.8.8.8",
    "11.0.0.1",
    "100.63.255.255",
    "100.128.0.1",
    "126.255.255.255",
    "168.63.129.17",
    "169.253.255.255",
    "172.15.255.255",
    "172.32.0.1",
    "192.0.1.1",
    "198.20.0.1",
    "223.255.255.255",
    "::ffff:8.8.8.8",
    "64:ff9b::8.8.8.8",
    "2001:4860:4860::8888",
    "2606:4700::1111",
    "2a00:1450:4001::1",
]


@pytest.mark.parametrize("text", PRIVATE)
def test_an_address_that_is_not_the_public_internets_is_refused(text: str) -> None:
    assert not is_public(ip_address(text))


@pytest.mark.parametrize("text", PUBLIC)
def test_an_address_of_the_public_internet_is_told_as_one(text: str) -> None:
    assert is_public(ip_address(text))


@given(st.ip_addresses(v=4))
def test_nothing_is_public_that_python_calls_private_or_special(address: IPv4Address) -> None:
    if is_public(address):
        assert address.is_global
        special = (address.is_private, address.is_multicast, address.is_loopback, address.is_link_local)
        assert not any(special)


@given(st.ip_addresses(v=4))
def test_an_ipv6_form_of_an_ipv4_address_is_judged_as_that(address: IPv4Address) -> None:
    mapped, translated = ip_address(f"::ffff:{address}"), ip_address(f"64:ff9b::{address}")
    assert is_public(mapped) == is_public(translated) == is_public(address)


@pytest.mark.parametrize("text", ["127.1", "2130706433", "0x7f.0.0.1", "127.0.0.01", "[::1]", "host", ""])
def test_a_text_that_is_no_plain_address_is_none(text: str) -> None:
    assert read_address(text) is None
