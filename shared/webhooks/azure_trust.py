"""How Azure's senders prove themselves: an Entra ID token, or a secret in a header or the query.

They sign nothing. A secret in the query is the last choice: platforms log addresses.
"""

import hmac
from typing import Annotated
from urllib.parse import parse_qs

from pydantic import Field, model_validator

from shared.webhooks.base import Options, Trust, Verified, WebhookRequest
from shared.webhooks.entra import TokenOptions, check_token
from shared.webhooks.rejections import BadSignature

HeaderName = Annotated[str, Field(pattern=r"^[a-z0-9-]{1,64}$")]
QueryName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")]


class AzureOptions(Options):
    """Exactly one of `token`, `secret_header` and `secret_query`; the latter two need `secrets`."""

    token: TokenOptions | None = None
    secret_header: HeaderName | None = None
    secret_query: QueryName | None = None

    @model_validator(mode="after")
    def _one_way(self) -> "AzureOptions":
        given = [way for way in (self.token, self.secret_header, self.secret_query) if way is not None]
        if len(given) != 1:
            raise ValueError('exactly one of "token", "secret_header" and "secret_query"')
        return self


def verify_azure(request: WebhookRequest, trust: Trust[AzureOptions]) -> Verified:
    """Raises BadSignature, UnknownSigningKey or StaleTimestamp."""
    options = trust.options
    if options.token is not None:
        check_token(request.headers.get("authorization", ""), options.token, trust)
        return Verified(secret_index=None)
    given = _secret(request, options)
    for index, key in enumerate(trust.keys):
        if given and hmac.compare_digest(key, given):
            return Verified(secret_index=index)
    raise BadSignature("The source's secret is missing or another one.")


def _secret(request: WebhookRequest, options: AzureOptions) -> bytes:
    if options.secret_header is not None:
        return request.headers.get(options.secret_header, "").encode("utf-8", "surrogatepass")
    try:
        found = parse_qs(request.query, max_num_fields=50).get(options.secret_query or "", [])
    except ValueError:
        return b""
    return found[0].encode("utf-8", "surrogatepass") if len(found) == 1 else b""
