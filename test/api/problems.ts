import assert from 'node:assert/strict';
import type { Received } from '../support/world.ts';

/** Asserts that a response is a problem with this code and all members (RFC 9457 and docs/http-api.md). */
export function assertProblem({ status, headers, json }: Received, expected: number, code: string): void {
  assert.equal(`${status} ${json?.code}`, `${expected} ${code}`);
  assert.match(headers.get('content-type') ?? '', /^application\/problem\+json/);
  assert.equal(json.status, expected);
  for (const member of ['type', 'title', 'detail', 'instance', 'request_id']) {
    assert.equal(typeof json[member], 'string', member);
  }
  assert.equal(json.request_id, headers.get('x-request-id'));
  assert.ok(!/\bselect\b|\binsert\b|node_modules|\bat \S+ \(/i.test(json.detail), 'nothing internal');
}

/** By how much the clock may be set back during a test, in milliseconds. */
export const CLOCK_MS = 1_000;

/**
 * Asserts that a time in a response, minus `later` milliseconds, is between `from` and now. Times in responses can be
 * truncated to whole seconds, and the clock can be set back.
 */
export function assertWithin(time: string, from: number, later = 0): void {
  const taken = Date.parse(time) - later;
  assert.ok(taken > from - 1_000 && taken <= Date.now() + CLOCK_MS, `${time} is ${taken - from} ms away`);
}
