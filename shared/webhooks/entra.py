"""Entra ID tokens, as Event Grid and Azure Monitor send them: an RS256 JWT for our application.

Sources: https://learn.microsoft.com/entra/identity-platform/access-token-claims-reference and
https://learn.microsoft.com/azure/event-grid/secure-webhook-delivery
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, Field, model_validator

from shared.webhooks.base import Jwk, Options, Trust
from shared.webhooks.key_address import KeyAddress
from shared.webhooks.rejections import BadSignature, StaleTimestamp, UnknownSigningKey

if TYPE_CHECKING:
    from jwt import PyJWK

Name = Annotated[str, Field(min_length=1, max_length=256)]
Tenant = Annotated[
    str, Field(pattern=r"^[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$"), AfterValidator(str.lower)
]
_LONGEST_TOKEN = 16 * 1024
_LAST_SECOND = 1e12


class TokenOptions(Options):
    """Which tokens are taken: of `tenant`, for `audience`, from the application `app_id`, with `role`.

    `issuer` and `keys_url` follow from the tenant; sovereign clouds have others. One of `app_id` and `role`
    is needed: any application of a tenant is given a token for any audience in it.
    """

    tenant: Tenant
    audience: Annotated[list[Name], Field(min_length=1, max_length=5)]
    app_id: Name | None = None
    role: Name | None = None
    issuer: Annotated[list[Name], Field(default_factory=list, max_length=5)]
    keys_url: KeyAddress | None = None

    @model_validator(mode="after")
    def _somebody(self) -> "TokenOptions":
        if self.app_id is None and self.role is None:
            raise ValueError('"app_id", "role" or both: every application of the tenant can get a token')
        return self

    @property
    def issuers(self) -> Sequence[str]:
        """Those of version 2 and version 1 tokens."""
        usual = (
            f"https://login.microsoftonline.com/{self.tenant}/v2.0",
            f"https://sts.windows.net/{self.tenant}/",
        )
        return self.issuer or usual

    @property
    def address(self) -> str:
        return self.keys_url or f"https://login.microsoftonline.com/{self.tenant}/discovery/v2.0/keys"


def check_token(header: str, options: TokenOptions, trust: Trust[Any]) -> None:
    """Raises BadSignature, UnknownSigningKey or StaleTimestamp. `header` is that of Authorization.

    UnknownSigningKey comes only for a token that names its key and is otherwise of the right form.
    """
    scheme, _, token = header.partition(" ")
    if scheme.lower() != "bearer" or not token or len(token) > _LONGEST_TOKEN:
        raise BadSignature("The header Authorization with a bearer token is missing.")
    claims = _claims(token.strip(), options, trust.published)
    _check_times(claims, trust)
    _check_caller(claims, options)


def _claims(token: str, options: TokenOptions, published: Sequence[Jwk]) -> Mapping[str, Any]:
    import jwt

    try:
        header = jwt.get_unverified_header(token)
        kid = header.get("kid")
        if header.get("alg") != "RS256" or not isinstance(kid, str):
            raise BadSignature("The token is not signed with RS256, or does not name its key.")
        return jwt.decode(  # times are checked against the injected clock
            token,
            _key(kid, published),
            algorithms=["RS256"],
            audience=options.audience,
            issuer=list(options.issuers),
            options={
                "require": ["exp", "iss", "aud"],
                "verify_exp": False,
                "verify_nbf": False,
                "verify_iat": False,
            },
        )
    except (jwt.PyJWTError, ValueError, TypeError, RecursionError):
        raise BadSignature("The token is not one of the issuer's for this application.") from None


def _key(kid: str, published: Sequence[Jwk]) -> "PyJWK":
    """The public RSA key called `kid`. Raises UnknownSigningKey, also where what is published is no key.

    That is not the sender's fault: a later reading may bring a sound one.
    """
    import jwt

    for jwk in published:
        if jwk.get("kid") == kid and jwk.get("kty") == "RSA" and jwk.get("use", "sig") == "sig":
            public = {name: jwk.get(name) for name in ("kty", "n", "e")}
            try:
                return jwt.PyJWK(public, algorithm="RS256")
            except (jwt.PyJWTError, ValueError, TypeError):
                continue
    raise UnknownSigningKey("The token names a key that its issuer does not publish.")


def _check_times(claims: Mapping[str, Any], trust: Trust[Any]) -> None:
    now, slack = trust.now.timestamp(), trust.tolerance.total_seconds()
    ends, begins = _time(claims.get("exp")), _time(claims.get("nbf", 0))
    if now > ends + slack:
        raise StaleTimestamp("The token has expired.", skew_seconds=int(ends - now))
    if now < begins - slack:
        raise StaleTimestamp("The token is not valid yet.", skew_seconds=int(begins - now))


def _time(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < _LAST_SECOND:
        raise BadSignature("The token's times are not numbers.")
    return value


def _check_caller(claims: Mapping[str, Any], options: TokenOptions) -> None:
    """The application is `azp` in tokens of version 2 and `appid` in those of version 1."""
    if claims.get("tid") != options.tenant:
        raise BadSignature("The token is of another tenant.")
    if options.app_id is not None and claims.get("azp", claims.get("appid")) != options.app_id:
        raise BadSignature("The token was issued to another application.")
    roles = claims.get("roles")
    if options.role is not None and options.role not in (roles if isinstance(roles, list) else []):
        raise BadSignature("The token does not carry the role that is wanted here.")
