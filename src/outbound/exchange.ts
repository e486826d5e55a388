import type { IncomingHttpHeaders } from 'node:http';
import type { Socket } from 'node:net';
import type { Dispatcher } from 'undici';
import type { AttemptResponse } from './attempt-record.ts';
import type { Connection } from './connection.ts';
import { exchangeFailure, type OutboundFailure } from './failure.ts';

export type ExchangeRequest = {
  /** Path and query. */
  path: string;
  headers: Record<string, string>;
  body: Uint8Array;
  maxResponseBytes: number;
};

/**
 * The result of an exchange; `failure` says why the response is incomplete. `firstByteMs` is null if no headers arrived.
 */
export type Exchange = {
  response: AttemptResponse | null;
  failure: OutboundFailure | null;
  firstByteMs: number | null;
  /** True if the connection was closed or reset before any byte of a response, interim responses included. */
  wasClosedUnanswered: boolean;
};

/**
 * Writes one POST and reads the response up to `maxResponseBytes`. If more arrives, the connection is closed and the
 * response counts as complete. An aborted `signal` closes the connection and fails with its reason. Never rejects.
 */
export function exchange(
  connection: Connection,
  request: ExchangeRequest,
  signal: AbortSignal,
): Promise<Exchange> {
  return new Promise((resolve) => {
    const answer = new Answer(connection.socket, request.maxResponseBytes, signal, resolve);
    connection.beforeRequest();
    connection.client.dispatch(
      { method: 'POST', path: request.path, headers: request.headers, body: request.body },
      answer,
    );
  });
}

/** Collects one response. undici calls the `on…` methods. */
class Answer implements Dispatcher.DispatchHandler {
  readonly #socket: Socket;
  /** Bytes that the connection had received before this exchange, after decryption. */
  readonly #bytesBefore: number;
  readonly #limit: number;
  readonly #signal: AbortSignal;
  readonly #resolve: (exchange: Exchange) => void;
  readonly #begun = performance.now();
  readonly #chunks: Buffer[] = [];
  #controller: Dispatcher.DispatchController | null = null;
  #head: { status: number; headers: Record<string, string> } | null = null;
  #firstByteMs: number | null = null;
  #size = 0;
  #truncated = false;
  #done = false;

  constructor(socket: Socket, limit: number, signal: AbortSignal, resolve: (exchange: Exchange) => void) {
    this.#socket = socket;
    this.#bytesBefore = socket.bytesRead;
    this.#limit = limit;
    this.#signal = signal;
    this.#resolve = resolve;
    signal.addEventListener('abort', this.#onAbort, { once: true });
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#signal.aborted) this.#onAbort();
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
  ): void {
    // 100 Continue and other interim responses are not the response (RFC 9110, 15.2).
    if (status < 200) return;
    this.#firstByteMs = performance.now() - this.#begun;
    this.#head = { status, headers: flat(headers) };
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    const room = this.#limit - this.#size;
    // Copied, because undici may reuse the memory.
    if (room > 0) this.#chunks.push(Buffer.from(chunk.subarray(0, room)));
    this.#size += chunk.length;
    if (chunk.length <= room) return;
    this.#truncated = true;
    this.#finish(null);
    controller.abort(new Error('Enough of the answer was read'));
  }

  onResponseEnd(): void {
    this.#finish(null);
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#truncated = this.#head !== null;
    this.#finish(exchangeFailure(error, this.#head !== null));
  }

  readonly #onAbort = (): void => {
    if (this.#controller !== null) this.#controller.abort(this.#signal.reason);
  };

  #finish(failure: OutboundFailure | null): void {
    if (this.#done) return;
    this.#done = true;
    this.#signal.removeEventListener('abort', this.#onAbort);
    const body = Buffer.concat(this.#chunks);
    const response = this.#head && { ...this.#head, body, truncated: this.#truncated };
    const wasClosedUnanswered =
      failure?.kind === 'connection_closed' && this.#socket.bytesRead === this.#bytesBefore;
    this.#resolve({ response, failure, firstByteMs: this.#firstByteMs, wasClosedUnanswered });
  }
}

function flat(headers: IncomingHttpHeaders): Record<string, string> {
  const entries = Object.entries(headers).map(([name, value]) => [
    name.toLowerCase(),
    Array.isArray(value) ? value.join(', ') : (value ?? ''),
  ]);
  return Object.fromEntries(entries);
}
