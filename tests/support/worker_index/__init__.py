"""Afterhook under the real worker library of Azure Functions, in a Python 3.13 of its own."""
