"""Which IP addresses are public: what is not could be a way into the network that the app runs in.

A list of our own, because `ipaddress.is_global` differs between Python versions. From the IANA registries
https://www.iana.org/assignments/iana-ipv4-special-registry and
https://www.iana.org/assignments/iana-ipv6-special-registry, and Azure's virtual public address
https://learn.microsoft.com/azure/virtual-network/what-is-ip-address-168-63-129-16.
"""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

IpAddress = IPv4Address | IPv6Address

_NOT_PUBLIC_4 = tuple(
    IPv4Network(network)
    for network in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",
        "100.64.0.0/10",  # carrier-grade NAT; some clouds' metadata too
        "127.0.0.0/8",
        "168.63.129.16/32",  # the Azure platform's own services, see above
        "169.254.0.0/16",  # link-local, and the instance metadata of every cloud
        "172.16.0.0/12",
        "192.0.0.0/24",  # protocol assignments
        "192.0.2.0/24",  # documentation, as the next two
        "198.51.100.0/24",
        "203.0.113.0/24",
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",
        "198.18.0.0/15",  # benchmarks
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and broadcast
    )
)
_UNICAST_6 = IPv6Network("2000::/3")
_NOT_PUBLIC_6 = tuple(
    IPv6Network(network)
    for network in (
        "2001::/23",  # protocol assignments: Teredo, benchmarks, ORCHID
        "2001:db8::/32",  # documentation, as the last
        "2002::/16",  # 6to4: holds an IPv4 address of anybody's choice
        "3fff::/20",
    )
)
_NAT64 = IPv6Network("64:ff9b::/96")
"""Translates to the IPv4 address in its last 32 bits (RFC 6052)."""


def is_public(address: IpAddress) -> bool:
    """Whether `address` is the public internet's. An IPv6 form of an IPv4 address is judged as that."""
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _NOT_PUBLIC_4)
    if address.scope_id is not None:
        return False
    if address.ipv4_mapped is not None:
        return is_public(address.ipv4_mapped)
    if address in _NAT64:
        return is_public(IPv4Address(int(address) & 0xFFFF_FFFF))
    return address in _UNICAST_6 and not any(address in network for network in _NOT_PUBLIC_6)


def read_address(text: str) -> IpAddress | None:
    """The address that `text` is (without brackets); None when it is none."""
    try:
        return ip_address(text)
    except ValueError:
        return None
