"""What anyone may send to a webhook: odd headers, queries and bodies, and JSON like the senders' own."""

from hypothesis import strategies as st

from shared.webhooks.base import WebhookRequest

HEADERS = [
    "aeg-event-type",
    "authorization",
    "content-encoding",
    "content-type",
    "stripe-signature",
    "svix-id",
    "svix-signature",
    "svix-timestamp",
    "webhook-id",
    "webhook-request-callback",
    "webhook-request-origin",
    "webhook-signature",
    "webhook-timestamp",
    "x-afterhook-secret",
    "x-fal-webhook-request-id",
    "x-fal-webhook-signature",
    "x-fal-webhook-timestamp",
    "x-fal-webhook-user-id",
    "x-github-delivery",
    "x-github-event",
    "x-github-hook-id",
    "x-hub-signature-256",
    "x-id",
    "x-shopify-event-id",
    "x-shopify-hmac-sha256",
    "x-shopify-shop-domain",
    "x-shopify-topic",
    "x-shopify-triggered-at",
    "x-shopify-webhook-id",
    "x-signature",
    "x-slack-request-timestamp",
    "x-slack-signature",
    "x-time",
    "x-twilio-signature",
    "x-twilio-webhooks-signature-settings",
]
ANY_TEXT = st.text(st.characters(exclude_categories=[]), max_size=80)
HOSTILE = ANY_TEXT | st.sampled_from(
    [
        "sha256=" + "0" * 64,
        "v0=" + "0" * 64,
        "v3=AAAA",
        "0" * 128,
        "t=1785147300,v1=é",
        "v1,AAAA v1 v1a,AAAA",
        "1785147300",
        "9" * 20,
        "Bearer a.b.c",
        "Bearer eyJhbGciOiJSUzI1NiIsImtpZCI6ImEifQ.e30.AAAA",
        "key=key-1,algorithm=HMAC_SHA256",
        "application/json",
        "application/x-www-form-urlencoded",
        "application/cloudevents-batch+json",
        "issues",
        "orders/create",
        "Notification",
    ]
)
QUERIES = ANY_TEXT | st.sampled_from(
    [
        "bodySHA256=" + "0" * 64,
        "bodySHA256=é&bodySHA256=",
        "code=é",
        "code=%FF&code=",
        "hub.mode=subscribe&hub.verify_token=é&hub.challenge=1",
        "hub.mode=subscribe&hub.verify_token=an+invented+token+of+the+tests&hub.challenge=%0A",
        "&".join(["a=1"] * 200),
    ]
)
REQUESTS = st.builds(
    WebhookRequest,
    method=st.sampled_from(["POST", "GET", "OPTIONS"]) | ANY_TEXT,
    headers=st.dictionaries(st.sampled_from(HEADERS), HOSTILE, max_size=8),
    query=QUERIES,
    url=ANY_TEXT,
    body=st.binary(max_size=200)
    | st.sampled_from([b"payload=%7B%7D", b"From=%FF", b"a=1&a=1", b"[]", b"{}"]),
)
# Words of the senders' bodies, so that generated ones come further than to the first field that is missing.
NAMES = tuple(
    """
    account action alertContext alertId alertTargetIDs api_app_id at challenge changes command context
    created created_at data display_phone_number entry essentials event eventTime eventType event_id
    event_time field firedDateTime from hook_id id messages messaging metadata monitorCondition object
    originAlertId owner payload phone_number_id postback read recipient recipient_id request_id
    resolvedDateTime schemaId sender severity signalType source specversion status statuses subject
    subtype team team_id time timestamp topic trigger_id type user_id validationCode validationUrl value
    """.split()  # noqa: SIM905  so many words read better as a text
)
WORDS = tuple(
    """
    event v2.core.event event_callback url_verification message OK ERROR page instagram
    whatsapp_business_account messages statuses read azureMonitorCommonAlertSchema Fired Resolved Sev1
    1.0 Microsoft.EventGrid.SubscriptionValidationEvent 2026-07-27T10:15:00Z 1785147300 wamid.A AC0123
    """.split()  # noqa: SIM905  so many words read better as a text
)
VALUES = st.none() | st.booleans() | st.integers() | st.floats() | ANY_TEXT | st.sampled_from(WORDS)
JSON_LIKE = st.recursive(
    VALUES,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner | VALUES, max_size=6)
    ),
    max_leaves=20,
)
BODIES = st.one_of(
    JSON_LIKE,
    *(
        st.fixed_dictionaries({name: st.sampled_from(WORDS) | JSON_LIKE for name in names.split()})
        for names in (
            "id object type account livemode created",
            "type event event_id team_id api_app_id challenge",
            "request_id status payload",
            "object entry",
            "schemaId data",
            "specversion id source type time data",
        )
    ),
)
