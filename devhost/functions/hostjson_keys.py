"""The keys that host.json has, to find a misspelt one: the platform passes over it without a word.

Sources: functions-host-json, functions-bindings-http-webhook and functions-bindings-service-bus under
https://learn.microsoft.com/azure/azure-functions/
"""

from collections.abc import Iterator, Mapping

_ROOT = frozenset(
    {
        "$schema",
        "aggregator",
        "applicationInsights",
        "concurrency",
        "customHandler",
        "extensionBundle",
        "extensions",
        "functionTimeout",
        "functions",
        "healthMonitor",
        "http",
        "logging",
        "managedDependency",
        "retry",
        "singleton",
        "telemetryMode",
        "version",
        "watchDirectories",
        "watchFiles",
    }
)
_SERVICE_BUS = frozenset(
    {
        "autoCompleteMessages",
        "clientRetryOptions",
        "enableCrossEntityTransactions",
        "maxAutoLockRenewalDuration",
        "maxBatchWaitTime",
        "maxConcurrentCalls",
        "maxConcurrentCallsPerSession",
        "maxConcurrentSessions",
        "maxMessageBatchSize",
        "minMessageBatchSize",
        "prefetchCount",
        "sessionIdleTimeout",
        "transportType",
        "webProxy",
    }
)
_RETRY = frozenset({"mode", "tryTimeout", "delay", "maxDelay", "maxRetries"})
_HTTP = frozenset(
    {"customHeaders", "dynamicThrottlesEnabled", "hsts", "maxConcurrentRequests", "maxOutstandingRequests"}
    | {"routePrefix"}
)
_LOGGING = frozenset({"applicationInsights", "console", "fileLoggingMode", "logLevel"})
_SECTIONS = {
    "": _ROOT,
    "logging": _LOGGING,
    "extensions.http": _HTTP,
    "extensions.serviceBus": _SERVICE_BUS,
    "extensions.serviceBus.clientRetryOptions": _RETRY,
    "extensionBundle": frozenset({"id", "version"}),
}


def unknown_keys(document: Mapping[str, object]) -> Iterator[str]:
    """The dotted names of keys that nothing reads. Names are compared as .NET does, without case."""
    for section, known in _SECTIONS.items():
        found: object = document
        for key in filter(None, section.split(".")):
            found = found.get(key) if isinstance(found, Mapping) else None
        if isinstance(found, Mapping):
            lower = {key.lower() for key in known}
            yield from (f"{section}.{key}".lstrip(".") for key in found if str(key).lower() not in lower)
