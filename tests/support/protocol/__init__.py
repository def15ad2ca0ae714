"""A deterministic simulation of the protocol: the real use cases, fakes, a model broker and an adversary."""
