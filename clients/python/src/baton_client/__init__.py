"""The Python client of Baton."""

from . import types
from ._async._client import AsyncBaton
from ._async._credentials import AsyncTokenSource
from ._async._events import AsyncEvents
from ._async._follow import TransportName
from ._async._listing import AsyncListing
from ._async._tasks import AsyncTasks
from ._async._webhooks import AsyncDeliveries, AsyncWebhooks
from ._errors import BatonError, BatonProblem, BatonTimeout, BatonUnreachable, EventsLeft
from ._sync._client import Baton
from ._sync._credentials import TokenSource
from ._sync._events import Events
from ._sync._listing import Listing
from ._sync._tasks import Tasks
from ._sync._webhooks import Deliveries, Webhooks
from ._vocabulary import CALLBACK_STATES, EVENT_KINDS, PROBLEM_CODES, TASK_STATES, TERMINAL_STATES
from ._waiting import Until, is_ended, is_settled
from .types import *  # noqa: F403
from .verify import SignatureError, SignatureReason, verify_callback, verify_webhook

__all__ = [
    "CALLBACK_STATES",
    "EVENT_KINDS",
    "PROBLEM_CODES",
    "TASK_STATES",
    "TERMINAL_STATES",
    "AsyncBaton",
    "AsyncDeliveries",
    "AsyncEvents",
    "AsyncListing",
    "AsyncTasks",
    "AsyncTokenSource",
    "AsyncWebhooks",
    "Baton",
    "BatonError",
    "BatonProblem",
    "BatonTimeout",
    "BatonUnreachable",
    "Deliveries",
    "Events",
    "EventsLeft",
    "Listing",
    "SignatureError",
    "SignatureReason",
    "Tasks",
    "TokenSource",
    "TransportName",
    "Until",
    "Webhooks",
    "is_ended",
    "is_settled",
    "verify_callback",
    "verify_webhook",
]
__all__ += types.__all__
