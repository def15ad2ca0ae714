"""A local Azure Functions host for Python apps: HTTP, Service Bus queue and timer triggers.

It runs the app the way the Functions host and its Python worker do, wherever an app can notice; where the
platform leaves a choice open, it takes the stricter one. One process, one event loop.
"""
