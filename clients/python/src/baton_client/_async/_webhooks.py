from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast

from typing_extensions import Unpack

from .._request import Request, idempotent, path_of, post, to_json
from ..types import (
    Delivery,
    DeliveryDetail,
    DeliveryFilter,
    EventKind,
    FilterPreview,
    ListedDelivery,
    Recovered,
    RotatedWebhook,
    SecretRotation,
    TestAttempt,
    Webhook,
    WebhookEdit,
    WebhookPlan,
    WebhookStats,
    WebhookSubscription,
)
from ._http import AsyncHttp
from ._listing import AsyncListing

_TEST_EXTRA = 35.0
"""A receiver has 30 s to respond to a test request."""


class AsyncWebhooks:
    """The methods for the webhooks of the workspace."""

    def __init__(self, http: AsyncHttp) -> None:
        self._http = http

    async def create(self, *, idempotency_key: str | None = None, **plan: Unpack[WebhookPlan]) -> Webhook:
        """Creates a webhook."""
        request = post("webhooks", body=plan, headers=idempotent(idempotency_key))
        return cast("Webhook", await self._http.json(request))

    async def get(self, id: str, /) -> Webhook:
        """Returns a webhook."""
        return cast("Webhook", await self._http.json(Request("GET", path_of("webhooks", id))))

    async def change(self, id: str, /, **edit: Unpack[WebhookEdit]) -> Webhook:
        """Changes the given fields. `active=True` also enables a webhook that was disabled after failures."""
        request = Request("PATCH", path_of("webhooks", id), body=to_json(edit))
        return cast("Webhook", await self._http.json(request))

    async def delete(self, id: str, /) -> None:
        """Deletes a webhook and cancels its pending deliveries."""
        await self._http.json(Request("DELETE", path_of("webhooks", id)))

    async def rotate_secret(
        self, id: str, /, *, idempotency_key: str | None = None, **rotation: Unpack[SecretRotation]
    ) -> RotatedWebhook:
        """
        Replaces the secret. During the overlap, requests are also signed with the previous secret.

        The response contains the new secret if Baton generated it.
        """
        headers = idempotent(idempotency_key)
        request = post("webhooks", id, "rotate-secret", body=rotation, headers=headers)
        return cast("RotatedWebhook", await self._http.json(request))

    async def test(
        self,
        id: str,
        /,
        *,
        event: EventKind,
        data: Mapping[str, Any] | None = None,
        draft: str | None = None,
        idempotency_key: str | None = None,
    ) -> TestAttempt:
        """
        Sends a sample event and returns the attempt. A failure at the receiver raises no error.

        `data` replaces the data of the sample. `draft` sends exactly the request that was previewed, once.
        """
        body = _given(event=event, data=data, draft=draft)
        headers = idempotent(idempotency_key)
        request = post("webhooks", id, "test", body=body, headers=headers, extra_seconds=_TEST_EXTRA)
        return cast("TestAttempt", await self._http.json(request))

    async def preview(
        self, id: str, /, *, events: Sequence[WebhookSubscription] | None = None, limit: int | None = None
    ) -> FilterPreview:
        """Returns which recent events match the given filters, with reasons. Default: the filters of the webhook."""
        body = _given(events=events, limit=limit)
        return cast(
            "FilterPreview",
            await self._http.json(post("webhooks", id, "preview", body=body, is_repeatable=True)),
        )

    async def recover(
        self,
        id: str,
        /,
        *,
        since: str,
        statuses: Sequence[Literal["held", "failed", "skipped"]] | None = None,
        count_only: bool | None = None,
        idempotency_key: str | None = None,
    ) -> Recovered:
        """Resends the deliveries that were held, failed or skipped since a time, in ISO 8601. Default: held and failed."""
        body = _given(since=since, statuses=statuses, count_only=count_only)
        request = post("webhooks", id, "recover", body=body, headers=idempotent(idempotency_key))
        return cast("Recovered", await self._http.json(request))

    async def stats(self, id: str, /, *, hours: int | None = None) -> WebhookStats:
        """Returns hourly statistics of the attempts. Default: 24 hours."""
        request = Request("GET", path_of("webhooks", id, "stats"), {"hours": hours})
        return cast("WebhookStats", await self._http.json(request))

    # The last method, since its name hides the type `list` in the annotations after it.
    def list(self, *, limit: int | None = None) -> AsyncListing[Webhook]:
        """Lists webhooks, newest first."""
        return AsyncListing(self._http, path_of("webhooks"), {"limit": limit})


class AsyncDeliveries:
    """The methods for the delivery log."""

    def __init__(self, http: AsyncHttp) -> None:
        self._http = http

    async def get(self, id: str, /) -> DeliveryDetail:
        """Returns a delivery with its newest 100 attempts."""
        return cast("DeliveryDetail", await self._http.json(Request("GET", path_of("deliveries", id))))

    async def retry(
        self, id: str, /, *, at: str | None = None, idempotency_key: str | None = None
    ) -> Delivery:
        """Retries a delivery, now or at a given time in ISO 8601."""
        request = post("deliveries", id, "retry", body=_given(at=at), headers=idempotent(idempotency_key))
        return cast("Delivery", await self._http.json(request))

    def list(self, webhook_id: str, /, **filter: Unpack[DeliveryFilter]) -> AsyncListing[ListedDelivery]:
        """Lists the deliveries of a webhook, newest first."""
        return AsyncListing(self._http, path_of("webhooks", webhook_id, "deliveries"), filter)


def _given(**fields: object) -> dict[str, object]:
    return {name: value for name, value in fields.items() if value is not None}
