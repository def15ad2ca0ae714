"""The app's settings with which the outside stands in for its providers, when the stack has that part."""

ADDRESSES = {"AI_BASE_URL": "{outside}/v1", "VIDEO_BASE_URL": "{outside}/v1"}
"""For `StackOptions.outside`."""

SETTINGS = {
    "AI_PROVIDER": "openai",
    "AI_MODEL": "stand-in",
    "AI_API_KEY": "any-key-will-do",
    "VIDEO_API_KEY": "any-key-will-do",
    "AFTERHOOK_PRIVATE_HOSTS": "127.0.0.1",
}
"""For `StackOptions.extra_settings`."""
