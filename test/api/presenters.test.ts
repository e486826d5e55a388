import assert from 'node:assert/strict';
import {
  presentAttempt as presentDeliveryAttempt,
  presentDetail as presentDelivery,
} from '../../src/api/deliveries/presenter.ts';
import { bodyText } from '../../src/api/http/json-text.ts';
import { download, presentArtifact } from '../../src/api/tasks/artifacts.ts';
import { cursorAt, presentCall, readCursor } from '../../src/api/tasks/calls.ts';
import {
  presentAttempt,
  presentDetail,
  presentListed,
  presentPushAttempt,
} from '../../src/api/tasks/presenter.ts';
import type { CallbackAttemptRow } from '../../src/database/tasks/callbacks.ts';
import type { PushAttemptRow } from '../../src/database/tasks/push.ts';
import { viewOfRow } from '../../src/database/tasks/run-views.ts';
import type { TaskRunRow } from '../../src/database/tasks/task-runs.ts';
import type { AttemptRow, DeliveryRow } from '../../src/database/webhooks/deliveries.ts';
import type { AgentCall } from '../../src/domain/agents/agent-work.ts';
import { MAX_LISTED_PAYLOAD_BYTES } from '../../src/domain/common/limits.ts';
import type { Step } from '../../src/domain/tasks/run-schemas.ts';

const DAY = '2026-01-31T12:00';
/** Returns a time of its own for each number up to 59. */
const at = (number: number) => new Date(`${DAY}:${String(number).padStart(2, '0')}.000Z`);
const shownAt = (number: number) => at(number).toISOString();
/** Returns what a client reads in a body. */
const sent = (body: unknown) => JSON.parse(bodyText(body));

const step = (number: number, status: Step['status']): Step => ({
  id: `step-id-${number}`,
  name: `step ${number}`,
  agent: `agent ${number}`,
  status,
  attempt: number,
  started_at: null,
  completed_at: null,
  duration_ms: null,
  summary: null,
  usage: null,
  error: null,
});

/** A run in which all values differ. */
const RUN: TaskRunRow = {
  id: 'run-id',
  workspace_id: 'workspace-id',
  project_id: 'project-id',
  created_by: 'key:1',
  title: 'The title',
  description: 'The description',
  task_type: 'bug',
  metadata: '{"b":1,"10":"x","2":null}',
  callback_url: 'https://example.com/callback',
  callback_secret: 'the secret',
  created_at: at(1),
  updated_at: at(2),
  state: 'paused',
  paused_from: 'executing',
  steps: [step(1, 'completed'), step(2, 'running')],
  started_at: at(3),
  paused_at: at(4),
  paused_by: 'user:ada@example.com',
  paused_ms: 5,
  completed_at: at(6),
  duration_ms: 7,
  output: { summary: 'The output' },
  errors: [{ code: 'step_failed', message: 'An error', step: 'step 1', agent: 'agent 1', at: shownAt(8) }],
  escalation: { reason: 'An escalation', step: 'step 2', agent: 'agent 2', at: shownAt(9) },
  last_seq: 12,
  view_seq: 11,
  last_writer: null,
  engine_paused_at: null,
  engine_pause_signalled: false,
  callback_status: 'delivered',
  callback_body: '{}',
  callback_retry_id: null,
  rerun_of: 'earlier-id',
  rerun_from: 'step 2',
  question: { id: 'q1', step: 'step 2', agent: 'agent 2', text: 'A question', at: shownAt(10) },
};

/** The same run without a value in each field that may lack one. */
const NEW_RUN: TaskRunRow = {
  ...RUN,
  description: null,
  callback_url: null,
  state: 'initializing',
  paused_from: null,
  steps: [],
  started_at: null,
  paused_at: null,
  paused_by: null,
  completed_at: null,
  duration_ms: null,
  output: null,
  escalation: null,
  callback_status: 'none',
  rerun_of: null,
  rerun_from: null,
  question: null,
};
const CONTEXT = { baseUrl: 'https://baton.example', labelOf: (actor: string) => `name of ${actor}` };

/** The values of a callback attempt in the detail of its run. */
const BRIEF = {
  attempt: 2,
  trigger: 'manual',
  attempted_at: at(11),
  response_status: 503,
  failure: 'status',
  message: 'A failure',
  duration_ms: 13,
  next_attempt_at: at(14),
} as const;

describe('a run that is shown', () => {
  const listed = {
    execution_id: 'run-id',
    state: 'paused',
    project_id: 'project-id',
    title: 'The title',
    task_type: 'bug',
    metadata: { b: 1, '10': 'x', '2': null },
    progress: { percent: 50, steps_completed: 1, steps_total: 2, current_step: 'step 2' },
    created_at: shownAt(1),
    started_at: shownAt(3),
    paused_at: shownAt(4),
    paused_by: 'user:ada@example.com',
    paused_ms: 5,
    completed_at: shownAt(6),
    duration_ms: 7,
    errors: RUN.errors,
    callback: { url: 'https://example.com/callback', status: 'delivered' },
    status_url: 'https://baton.example/api/v1/tasks/run-id',
    websocket_room: 'workflow:run-id',
    last_seq: 11,
    created_by: 'name of key:1',
    rerun_of: 'earlier-id',
    question: RUN.question,
  };
  const briefly = { ...BRIEF, attempted_at: shownAt(11), next_attempt_at: shownAt(14) };
  const parts = {
    usage: { input_tokens: 20, output_tokens: 21, model_calls: 22 },
    attempts: [BRIEF],
    reruns: [
      { execution_id: 'rerun-id', state: 'failed', rerun_from: 'step 1', created_at: at(15) },
      { execution_id: 'another-id', state: 'planning', rerun_from: null, created_at: at(16) },
    ],
  } as const;

  it('has the values of its row in the list, and further ones in the detail', () => {
    const bodyOfList = sent(presentListed(RUN, CONTEXT));
    assert.deepEqual(bodyOfList, listed);
    assert.deepEqual(sent(presentDetail(RUN, viewOfRow(RUN), parts, CONTEXT)), {
      ...listed,
      description: 'The description',
      steps: RUN.steps,
      output: { summary: 'The output' },
      escalation: RUN.escalation,
      callback: { ...listed.callback, attempts: [briefly] },
      rerun_from: 'step 2',
      usage: parts.usage,
      reruns: [
        { ...parts.reruns[0], created_at: shownAt(15) },
        { ...parts.reruns[1], created_at: shownAt(16) },
      ],
    });
  });

  it('has the changing values of its view, which can be newer than its row', () => {
    const view = {
      ...viewOfRow(RUN),
      state: 'executing',
      progress: { percent: 99, steps_completed: 98, steps_total: 97, current_step: 'another' },
      steps: [step(3, 'failed')],
      started_at: shownAt(31),
      paused_at: shownAt(32),
      paused_by: 'somebody',
      paused_ms: 33,
      completed_at: shownAt(34),
      duration_ms: 35,
      output: { summary: 'Another output' },
      errors: [],
      escalation: null,
      question: null,
      last_seq: 36,
    } as const;
    const shown = sent(presentDetail(RUN, { ...view, steps: [...view.steps], errors: [] }, parts, CONTEXT));
    const { paused_from: _, ...changing } = view;
    assert.deepEqual({ ...shown, ...changing }, shown);
  });

  it('has null for what it does not have', () => {
    const { description, started_at, paused_at, paused_by, completed_at, duration_ms, output, ...others } =
      sent(presentDetail(NEW_RUN, viewOfRow(NEW_RUN), { usage: null, attempts: [], reruns: [] }, CONTEXT));
    assert.deepEqual(
      [description, started_at, paused_at, paused_by, completed_at, duration_ms, output],
      [null, null, null, null, null, null, null],
    );
    const { escalation, callback, rerun_of, rerun_from, question, usage, reruns } = others;
    assert.deepEqual(
      [escalation, rerun_of, rerun_from, question, usage, reruns],
      [null, null, null, null, null, []],
    );
    assert.deepEqual(callback, { url: null, status: 'none', attempts: [] });
    const { callback: brief, ...row } = sent(presentListed(NEW_RUN, CONTEXT));
    assert.deepEqual(brief, { url: null, status: 'none' });
    assert.deepEqual([row.rerun_of, row.question, row.started_at], [null, null, null]);
    const [attempt] = sent(
      presentDetail(
        RUN,
        viewOfRow(RUN),
        {
          ...parts,
          attempts: [
            {
              ...BRIEF,
              response_status: null,
              failure: null,
              message: null,
              duration_ms: null,
              next_attempt_at: null,
            },
          ],
        },
        CONTEXT,
      ),
    ).callback.attempts;
    assert.deepEqual(attempt, {
      attempt: 2,
      trigger: 'manual',
      attempted_at: shownAt(11),
      response_status: null,
      failure: null,
      message: null,
      duration_ms: null,
      next_attempt_at: null,
    });
  });

  it('has a pending callback during a retry of a failed one', () => {
    const retried: TaskRunRow = { ...RUN, callback_status: 'failed', callback_retry_id: 'retry-id' };
    assert.equal(sent(presentListed(retried, CONTEXT)).callback.status, 'pending');
    const shown = sent(presentDetail(retried, viewOfRow(retried), parts, CONTEXT));
    assert.equal(shown.callback.status, 'pending');
  });
});

const SIGNATURE = `sha256=${'5'.repeat(64)}`;
const REQUEST = {
  url: 'https://example.com/hook',
  request_headers: { 'x-service-event': 'task.failed', 'x-service-signature': SIGNATURE },
  request_body: '{"request":1}',
  attempted_at: at(20),
};
const END = {
  response_status: 503,
  response_headers: { 'x-repeated': SIGNATURE },
  response_body: `It was ${SIGNATURE}`,
  failure: 'status',
  message: 'A failure',
  address: '192.0.2.1',
  duration_ms: 21,
  completed_at: at(22),
  next_attempt_at: at(23),
  reconnected: true,
};
/** What callers without the right to send see of {@link SIGNATURE}. */
const MASKED = '********';

describe('an attempt of a run that is shown', () => {
  const shownEnd = {
    ...REQUEST,
    ...END,
    attempted_at: shownAt(20),
    completed_at: shownAt(22),
    next_attempt_at: shownAt(23),
  };
  const callback: CallbackAttemptRow = {
    id: 'attempt-id',
    execution_id: 'run-id',
    attempt: 3,
    trigger: 'manual',
    ...REQUEST,
    ...END,
  };
  const push: PushAttemptRow = {
    id: 'push-id',
    execution_id: 'run-id',
    config_id: 'config-id',
    seq: 4,
    attempt: 5,
    ...REQUEST,
    ...END,
  };

  it('has its request and its response', () => {
    assert.deepEqual(sent(presentAttempt(callback, true)), {
      id: 'attempt-id',
      execution_id: 'run-id',
      attempt: 3,
      trigger: 'manual',
      ...shownEnd,
    });
    assert.deepEqual(sent(presentPushAttempt(push, true)), {
      id: 'push-id',
      execution_id: 'run-id',
      config_id: 'config-id',
      seq: 4,
      attempt: 5,
      ...shownEnd,
    });
  });

  it('has no signature for callers who may not send, also where the receiver repeats it', () => {
    const hidden = {
      request_headers: { 'x-service-event': 'task.failed', 'x-service-signature': MASKED },
      response_headers: { 'x-repeated': `sha256=${MASKED}` },
      response_body: `It was sha256=${MASKED}`,
    };
    for (const shown of [sent(presentAttempt(callback, false)), sent(presentPushAttempt(push, false))]) {
      assert.deepEqual(shown, {
        ...shown,
        ...hidden,
        request_body: REQUEST.request_body,
        response_status: 503,
      });
    }
  });

  it('has null for what is not known before its end', () => {
    const begun = Object.fromEntries(Object.keys(END).map((name) => [name, null])) as unknown as typeof END;
    const nothing = { ...begun, reconnected: false };
    for (const signed of [true, false]) {
      const shown = sent(presentAttempt({ ...callback, ...nothing }, signed));
      assert.deepEqual(shown, { ...shown, ...nothing });
    }
  });
});

const DELIVERY: DeliveryRow = {
  id: 'delivery-id',
  workspace_id: 'workspace-id',
  webhook_id: 'webhook-id',
  event_seq: 1,
  event_id: 'evt_1',
  event: 'issue.created',
  status: 'retrying',
  test: true,
  reason: 'A reason',
  generation: 2,
  in_backlog: false,
  failures: 3,
  attempts_count: 4,
  response_status: 503,
  failure: 'status',
  response_ms: 5,
  next_attempt_at: at(30),
  scheduled_at: at(31),
  retry_started: true,
  created_at: at(32),
  updated_at: at(33),
};

describe('a delivery that is shown with its attempts', () => {
  const row: AttemptRow = {
    delivery_id: 'delivery-id',
    number: 4,
    trigger: 'manual',
    attempted_at: at(20),
    url: REQUEST.url,
    request_headers: REQUEST.request_headers,
    response_status: 503,
    response_headers: { 'x-repeated': SIGNATURE },
    response_body: `It was ${SIGNATURE}`,
    response_truncated: true,
    failure: 'status',
    message: 'A failure',
    address: '192.0.2.1',
    timings: { lookup_ms: 1, connect_ms: 2, tls_ms: 3, first_byte_ms: 4, total_ms: 5 },
    response_ms: 6,
  };
  const shownAttempt = {
    number: 4,
    trigger: 'manual',
    attempted_at: shownAt(20),
    request: { method: 'POST', url: REQUEST.url, headers: REQUEST.request_headers, body: 'the payload' },
    response: {
      status: 503,
      headers: { 'x-repeated': SIGNATURE },
      body: `It was ${SIGNATURE}`,
      truncated: true,
    },
    failure: 'status',
    message: 'A failure',
    address: '192.0.2.1',
    timings: row.timings,
    response_ms: 6,
  };
  const event = {
    body: 'the payload',
    words: 'evt_1 issue.created the words',
    timestamp: at(40),
    received_at: at(41),
  };

  it('has the values of its row, of its event and of its attempts', () => {
    assert.deepEqual(sent(presentDelivery(DELIVERY, [row], event, true)), {
      id: 'delivery-id',
      webhook_id: 'webhook-id',
      event_id: 'evt_1',
      event: 'issue.created',
      status: 'retrying',
      test: true,
      response_status: 503,
      failure: 'status',
      response_ms: 5,
      attempts_count: 4,
      next_attempt_at: shownAt(30),
      scheduled_at: shownAt(31),
      reason: 'A reason',
      created_at: shownAt(32),
      about: 'the words',
      event_timestamp: shownAt(40),
      received_at: shownAt(41),
      attempts: [shownAttempt],
    });
  });

  it('has no signature for callers who may not send, also where the receiver repeats it', () => {
    const { attempts } = sent(presentDelivery(DELIVERY, [row], event, false));
    assert.deepEqual(attempts, [
      {
        ...shownAttempt,
        request: {
          ...shownAttempt.request,
          headers: { 'x-service-event': 'task.failed', 'x-service-signature': MASKED },
        },
        response: {
          ...shownAttempt.response,
          headers: { 'x-repeated': `sha256=${MASKED}` },
          body: `It was sha256=${MASKED}`,
        },
      },
    ]);
  });

  it('has null for what it does not have, also after the event was deleted', () => {
    const nothing = {
      response_status: null,
      response_headers: null,
      response_body: null,
      response_truncated: null,
      failure: null,
      message: null,
      address: null,
      response_ms: null,
    };
    const { event_timestamp, received_at, about, attempts } = sent(
      presentDelivery(DELIVERY, [{ ...row, ...nothing }], null, true),
    );
    assert.deepEqual([event_timestamp, received_at, about], [null, null, null]);
    const { request, response, failure, message, address, response_ms } = attempts[0];
    assert.deepEqual(
      [request.body, response, failure, message, address, response_ms],
      [null, null, null, null, null, null],
    );
    const of = { deliveryId: 'delivery-id', event: 'issue.created', timestamp: null };
    const answered = { ...row, ...nothing, response_status: 204 };
    assert.deepEqual(sent(presentDeliveryAttempt(answered, of, 'x', true)).response, {
      status: 204,
      headers: {},
      body: null,
      truncated: false,
    });
  });

  it('repeats its payload in the newest attempts, as far as the limit of bytes allows, and in one at least', () => {
    const numbered = [1, 2, 3, 4].map((number) => ({ ...row, number }));
    const withBody = (body: string) =>
      presentDelivery(DELIVERY, numbered, { ...event, body }, true)
        .attempts.filter(({ request }) => request.body !== null)
        .map(({ number }) => number);
    const third = Math.floor(MAX_LISTED_PAYLOAD_BYTES / 3);
    assert.deepEqual(withBody('x'.repeat(third)), [2, 3, 4]);
    assert.deepEqual(withBody('x'.repeat(third + 1)), [3, 4]);
    assert.deepEqual(withBody('é'.repeat(MAX_LISTED_PAYLOAD_BYTES / 2)), [4], 'bytes are counted');
    assert.deepEqual(withBody('x'.repeat(MAX_LISTED_PAYLOAD_BYTES + 1)), [4]);
    assert.deepEqual(withBody(''), [1, 2, 3, 4]);
  });
});

describe('a document of a run that is shown', () => {
  const row = {
    name: 'a b/é.md',
    media_type: 'text/markdown',
    size: 5,
    sha256: 'the hash',
    step_id: 'step-id-2',
    agent: 'the writer',
    created_at: at(50),
  };

  it('has the name of its step, and the URL of its content', () => {
    const shown = {
      name: 'a b/é.md',
      media_type: 'text/markdown',
      size: 5,
      sha256: 'the hash',
      step: 'step 2',
      agent: 'the writer',
      created_at: shownAt(50),
      url: 'https://baton.example/api/v1/tasks/run-id/artifacts/a%20b%2F%C3%A9.md',
    };
    assert.deepEqual(presentArtifact(row, RUN, CONTEXT.baseUrl), shown);
    const unknown = { ...row, step_id: 'no step' };
    assert.deepEqual(presentArtifact(unknown, RUN, CONTEXT.baseUrl), { ...shown, step: null });
  });

  it('is sent as an attachment, as plain bytes if a browser could execute it', () => {
    const content = Buffer.from('é\n');
    const headersOf = (name: string, media_type: string) => {
      const { status, headers, stream } = download(name, { media_type, content });
      stream?.destroy();
      assert.equal(status, 200);
      return headers;
    };
    assert.deepEqual(headersOf(`it's (a) "ä*%\\.md`, 'text/markdown'), {
      'Content-Type': 'text/markdown; charset=utf-8',
      'Content-Length': '3',
      'Content-Disposition': `attachment; filename="it's (a) __*__.md"; filename*=UTF-8''it%27s%20%28a%29%20%22%C3%A4%2A%25%5C.md`,
      'Content-Security-Policy': "sandbox; default-src 'none'; frame-ancestors 'none'",
    });
    const typeOf = (type: string) => headersOf('a', type)?.['Content-Type'];
    for (const type of [
      'text/html',
      'application/xml',
      'image/svg+xml',
      'text/javascript',
      'application/pdf',
      'multipart/x-mixed-replace',
      'message/rfc822',
    ])
      assert.equal(typeOf(type), 'application/octet-stream', type);
    for (const type of ['application/json', 'image/png', 'application/pdfx', 'x-multipart/a'])
      assert.equal(typeOf(type), type);
  });
});

describe('a call of an agent that is shown', () => {
  const call: AgentCall = {
    step_id: '01980000-0000-7000-8000-000000000002',
    attempt: 2,
    number: 3,
    kind: 'tool',
    name: 'fs__read',
    input: { path: 'x' },
    output: 'y',
    truncated: true,
    usage: { input_tokens: 4, output_tokens: 5 },
    failure: 'A failure',
    started_at: shownAt(51),
    duration_ms: 6,
  };
  const { step_id: stepId, ...rest } = call;

  it('has the name and the agent of its step, which calls of the planner do not have', () => {
    const run = { ...RUN, steps: [step(1, 'completed'), { ...step(2, 'running'), id: stepId }] };
    assert.deepEqual(presentCall(call, run), { ...rest, step: 'step 2', agent: 'agent 2' });
    assert.deepEqual(presentCall(call, RUN), { ...rest, step: null, agent: null });
  });

  it('has a cursor that names it, and no other text is one', () => {
    assert.deepEqual(readCursor(cursorAt(call)), { startedAt: shownAt(51), stepId, attempt: 2, number: 3 });
    const encoded = (text: string) => Buffer.from(text).toString('base64url');
    const whole = `${shownAt(51)} ${stepId} 2 3`;
    assert.ok(readCursor(encoded(whole)));
    for (const wrong of [
      whole.replace('2026-01', '2026-13'),
      whole.replace('.000Z', 'Z'),
      whole.replace('01980000-', '019800000'),
      `${whole}0000000000`,
      `${whole}x`,
      ` ${whole}`,
      whole.replace(' 2 ', ' x '),
      '',
    ])
      assert.equal(readCursor(encoded(wrong)), null, wrong);
  });
});
