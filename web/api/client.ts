import createClient from 'openapi-fetch';
import type { components, paths } from '../.generated/api.d.ts';
import { ApiProblem, Unreachable } from './problem.ts';

/** The schemas of the API, by their names in the OpenAPI document. */
export type Schemas = components['schemas'];

/**
 * The client of the API at the address of this page. The browser sends the session cookie. Wrap each call in {@link
 * unwrap}.
 */
export const api = createClient<paths>({ baseUrl: location.origin, credentials: 'same-origin' });

type Outcome<T> = { data?: T; error?: unknown; response: Response };

/**
 * Returns the body of a successful response. Throws ApiProblem for an error response, Unreachable without a
 * response, and the AbortError of an aborted request.
 */
export async function unwrap<T>(call: Promise<Outcome<T>>): Promise<T> {
  let outcome: Outcome<T>;
  try {
    outcome = await call;
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw new Unreachable(error);
  }
  if (!outcome.response.ok) throw new ApiProblem(outcome.response, outcome.error);
  return outcome.data as T;
}
