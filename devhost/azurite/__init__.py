"""Azurite, the storage emulator: its npm package, installed once, and the process of the local stack."""
