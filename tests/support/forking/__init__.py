"""Processes of the local stack in milliseconds instead of a second.

A process that has imported a part (`nursery`) forks a real one at each start: with its own id, signals,
descriptors, environment and exit code, a child of the test's process like any other. What is saved is only
that each imports the same modules again. `pytest --no-forking` starts every process from scratch.
"""
