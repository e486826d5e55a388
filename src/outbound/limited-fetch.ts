import { Agent, fetch as fetchWith, Response } from 'undici';
import { MAX_RESPONSE_BYTES } from '../domain/common/limits.ts';
import { OutboundFailure } from './failure.ts';

/** A `fetch` for addresses from the configuration. `close` ends its connections. */
export type LimitedFetch = { fetch: typeof globalThis.fetch; close(): Promise<void> };

/**
 * Creates a `fetch` without an address guard. A response beyond {@link MAX_RESPONSE_BYTES} fails while its body is read.
 */
export function createLimitedFetch(options: Agent.Options = {}): LimitedFetch {
  const dispatcher = new Agent({ ...options, maxResponseSize: MAX_RESPONSE_BYTES });
  const limited = async (input: string | URL, init: object = {}) =>
    limitedResponse(await fetchWith(input, { ...init, dispatcher }));
  return { fetch: limited as unknown as typeof globalThis.fetch, close: () => dispatcher.destroy() };
}

/** Returns a response whose body fails beyond the limit. undici counts a compressed body before it decompresses it. */
export function limitedResponse(response: Response): Response {
  const { body, status, statusText, headers, url } = response;
  if (body === null || !headers.has('content-encoding')) return response;
  let bytes = 0;
  const counter = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      bytes += chunk.byteLength;
      if (bytes > MAX_RESPONSE_BYTES) {
        controller.error(
          new OutboundFailure('invalid_response', 'The response is too large when decompressed'),
        );
      } else controller.enqueue(chunk);
    },
  });
  const counted = new Response(body.pipeThrough(counter), { status, statusText, headers });
  return Object.defineProperty(counted, 'url', { value: url });
}
