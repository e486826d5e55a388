import { MASKED } from '../domain/webhooks/delivery.ts';
import { signature } from './sign.ts';
import { withoutValues, type Shown } from './webhook-request.ts';

/** The credentials that a receiver of push notifications expects. In clear text; must not outlive the attempt. */
export type PushSecrets = {
  token: string | null;
  /** The value of the header `Authorization`. */
  authorization: string | null;
};

/** The event of a notification. `at` is ISO 8601. */
type Pushed = { delivery: string; event: string; at: string };

const TOKEN_HEADER = 'x-a2a-notification-token';
const SECRET_HEADERS = new Set([TOKEN_HEADER, 'authorization']);

/**
 * Returns the headers of a push notification of A2A 1.0 (docs/a2a.md). The key of the signature is the token; without one
 * there is no signature.
 */
export function pushHeaders(
  { delivery, event, at }: Pushed,
  body: Uint8Array,
  { token, authorization }: PushSecrets,
): Record<string, string> {
  return {
    'content-type': 'application/a2a+json',
    'a2a-version': '1.0',
    'x-service-event': event,
    'x-service-delivery': delivery,
    'x-service-timestamp': at,
    ...(token === null ? {} : { [TOKEN_HEADER]: token, 'x-service-signature': signature(token, body) }),
    ...(authorization === null ? {} : { authorization }),
  };
}

/** Returns the headers for the log, with the secrets masked. */
export function loggedPushHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, SECRET_HEADERS.has(name) ? MASKED : value]),
  );
}

/** Returns a response without the secrets of its request, which error pages of receivers may repeat. */
export function withoutPushSecrets(response: Shown, { token, authorization }: PushSecrets): Shown {
  const credentials = authorization?.replace(/^\S+ /, '') ?? '';
  return withoutValues(response, [token ?? '', credentials]);
}
