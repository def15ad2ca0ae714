"""How Azure's senders prove themselves: an Entra ID token, or a secret in a header or the query.

They sign nothing. A secret in the query is the last choice: platforms log addresses.
"""

from typing import Annotated, TypeVar
from urllib.parse import unquote, unquote_plus

from pydantic import Field, model_validator

from shared.pipeline.values import HeaderName
from shared.webhooks.base import Options, Scheme, Trust, Verified, WebhookRequest
from shared.webhooks.entra import TokenOptions, check_token
from shared.webhooks.rejections import BadSignature
from shared.webhooks.signatures import matching_key, text_key

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


A = TypeVar("A", bound=AzureOptions)


class AzureScheme(Scheme[A]):
    """What Azure's senders have in common. With a token there are no secrets, and a time is signed."""

    def load_key(self, secret: str, options: A) -> bytes:  # noqa: ARG002  the scheme's interface
        return text_key(secret)

    def wants_secrets(self, options: A) -> bool:
        return options.token is None

    def takes_secrets(self, options: A) -> bool:
        return options.token is None

    def signs_time(self, options: A) -> bool:
        return options.token is not None

    def key_set(self, options: A) -> str | None:
        return None if options.token is None else options.token.address

    def verify(self, request: WebhookRequest, trust: Trust[A]) -> Verified:
        return verify_azure(request, trust)


def verify_azure(request: WebhookRequest, trust: Trust[AzureOptions]) -> Verified:
    """Raises BadSignature, UnknownSigningKey or StaleTimestamp."""
    options = trust.options
    if options.token is not None:
        check_token(request.headers.get("authorization", ""), options.token, trust)
        return Verified(secret_index=None)
    index = matching_key(trust.keys, _given(request, options), lambda key: key)
    if index is None:
        raise BadSignature("The source's secret is missing or another one. Compare it on both sides.")
    return Verified(secret_index=index)


def _given(request: WebhookRequest, options: AzureOptions) -> list[bytes]:
    """The secret that the request shows. In a query `+` may stand for itself or for a space."""
    if options.secret_header is not None:
        found = [request.headers.get(options.secret_header, "")]
    else:
        pairs = [pair.partition("=") for pair in request.query.split("&")]
        values = [value for name, _, value in pairs if name == options.secret_query]
        found = [decode(values[0]) for decode in (unquote, unquote_plus)] if len(values) == 1 else []
    return [text.encode("utf-8", "surrogatepass") for text in found if text]
