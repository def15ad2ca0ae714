"""Imports what the application comes to import while it serves, for a nursery."""

import importlib
import pkgutil

import azure.data.tables.aio
import azure.functions
import azure.servicebus.aio
import azure.storage.blob.aio

import shared

__all__ = ["azure", "shared"]

for module in pkgutil.walk_packages(shared.__path__, "shared."):
    importlib.import_module(module.name)
