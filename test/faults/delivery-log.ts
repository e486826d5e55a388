import assert from 'node:assert/strict';
import type { ReceivedRequest } from '../support/receiver.ts';
import type { PublishResult } from './publishers.ts';
import type { Endpoint, Logged } from './service-webhooks.ts';

/** The requests of one event at one receiver. */
type Pair = { webhookId: string; eventId: string; requests: ReceivedRequest[] };

/** Returns the requests at the receivers, by webhook and event. */
export function pairsOf(endpoints: readonly Endpoint[]): Map<string, Pair> {
  const pairs = new Map<string, Pair>();
  for (const { id: webhookId, receiver } of endpoints) {
    for (const request of receiver.requests) {
      const { id: eventId } = JSON.parse(request.body.toString()) as { id: string };
      const key = pairKey(webhookId, eventId);
      const pair = pairs.get(key) ?? { webhookId, eventId, requests: [] };
      pair.requests.push(request);
      pairs.set(key, pair);
    }
  }
  return pairs;
}

/** Returns the pairs of webhook and accepted event without a request. */
export function missingPairs(endpoints: readonly Endpoint[], { accepted }: PublishResult): string[] {
  const pairs = pairsOf(endpoints);
  return endpoints.flatMap(({ id }) =>
    [...accepted].map((eventId) => pairKey(id, eventId)).filter((key) => !pairs.has(key)),
  );
}

/**
 * Asserts that the log matches the requests: every request is in the log, every logged success has a request, and
 * duplicates have the same delivery and the same bytes.
 */
export function assertLogMatches(endpoints: readonly Endpoint[], log: readonly Logged[]): void {
  const pairs = pairsOf(endpoints);
  const logged = new Map(log.map((row) => [pairKey(row.webhook_id, row.event_id), row]));
  assert.equal(logged.size, log.length, 'no pair has two deliveries');
  for (const [key, pair] of pairs) {
    const row = logged.get(key);
    assert.ok(row, `${key} arrived but is not in the log`);
    for (const { headers, body } of pair.requests) {
      assert.equal(headers['x-service-delivery'], row.id, `${key} arrived with another delivery id`);
      assert.equal(body.toString(), row.body, key);
    }
  }
  for (const [key, row] of logged) {
    const seen = pairs.get(key)?.requests.length ?? 0;
    const message = `${key}, seen ${seen} times: ${JSON.stringify({ ...row, body: undefined })}`;
    const isWaitingWithReason = row.status === 'retrying' && row.failure !== null;
    assert.ok(row.status === 'succeeded' || isWaitingWithReason, message);
    assert.deepEqual(
      row.attempts.map(({ number }) => number),
      row.attempts.map((_, index) => index + 1),
      message,
    );
    assert.equal(row.attempts_count, row.attempts.length, message);
    const answered = row.attempts.filter(({ response_status: status }) => status === 204).length;
    assert.ok(answered <= seen, `the log has more responses than requests arrived; ${message}`);
    assert.equal(row.status === 'succeeded', answered > 0, message);
  }
}

/** Counts the pairs, and the requests that repeat an earlier one. */
export function countDuplicates(endpoints: readonly Endpoint[]): { pairs: number; duplicates: number } {
  const pairs = [...pairsOf(endpoints).values()];
  const requests = pairs.reduce((sum, pair) => sum + pair.requests.length, 0);
  return { pairs: pairs.length, duplicates: requests - pairs.length };
}

function pairKey(webhookId: string, eventId: string): string {
  return `${webhookId} ${eventId}`;
}
