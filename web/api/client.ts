import createClient from 'openapi-fetch';
import type { components, paths } from '../.generated/api.d.ts';
import { ApiProblem, Unreachable } from './problem.ts';

/** The shapes of the API by the names they have in its document. */
export type Schemas = components['schemas'];

/**
 * The API at the address of this page; the session cookie goes along by itself. Each call is wrapped in
 * {@link unwrap}.
 */
export const api = createClient<paths>({ baseUrl: location.origin, credentials: 'same-origin' });

type Outcome<T> = { data?: T; error?: unknown; response: Response };

/**
 * The body of a good answer.
 * @throws ApiProblem for a refusal, Unreachable where no answer came; what was aborted stays an AbortError
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
