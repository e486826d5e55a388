import type { AttemptResult } from '../../src/database/webhooks/delivery-results.ts';

/** Returns the result of a successful attempt, with these members replaced. */
export function successOf(
  row: { id: string; webhook_id: string; workspace_id: string },
  members: Partial<AttemptResult> = {},
): AttemptResult {
  const now = new Date().toISOString();
  return {
    delivery_id: row.id,
    webhook_id: row.webhook_id,
    workspace_id: row.workspace_id,
    generation: 0,
    failures: 0,
    enabled_count: 0,
    trigger: 'automatic',
    token: null,
    new_delivery: null,
    succeeded: true,
    attempted_at: now,
    completed_at: now,
    url: 'http://localhost',
    request_headers: {},
    response_status: 204,
    response_headers: {},
    response_body: '',
    response_truncated: false,
    failure: null,
    message: null,
    address: null,
    timings: [null, null, null, null, 1],
    response_ms: 1,
    ...members,
  };
}
