"""Signs bodies as the senders of webhooks do, for trying a source by hand and for the tests.

One module a scheme, each with `signed(body, secret, *, now, ...)`, which gives the headers, the query string
and the body to send. Nothing here shares code with what verifies them.
"""

Sent = tuple[dict[str, str], str, bytes]
"""Headers with lower-case names, the query string, the body."""

JSON = "application/json"
FORM = "application/x-www-form-urlencoded"
