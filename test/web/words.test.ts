import assert from 'node:assert/strict';
import type { FeedEvent, FeedEventType } from '../../src/domain/tasks/feed-events.ts';
import type { Step } from '../../src/domain/tasks/run-schemas.ts';
import { RUN_ERROR_CODES, type TaskState } from '../../src/domain/tasks/task-states.ts';
import { parseSearch, stringifySearch, parseList } from '../../web/routing/search.ts';
import { browserName } from '../../web/format/browser.ts';
import {
  formatClockTime,
  formatDuration,
  formatExactTime,
  formatLocal,
  formatRelativeTime,
  formatTimeAhead,
  formatUtc,
} from '../../web/format/time.ts';
import { actionText, detailsOf } from '../../web/pages/settings/audit-log/words.ts';
import { asCurl } from '../../web/pages/orchestration/as-curl.ts';
import {
  actorName,
  callbackOutlook,
  errorTitle,
  escalationOutlook,
  noteOf,
  progressText,
  shownStatus,
  stateChangeText,
} from '../../web/pages/orchestration/words.ts';
import { isIn, shareOf, spanOfStep, timelineOf } from '../../web/pages/orchestration/timeline-model.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

describe('a time on a screen', () => {
  it('is a duration with one or two units', () => {
    const table: [number, string][] = [
      [0, '0 ms'],
      [812, '812 ms'],
      [1_449, '1.4 s'],
      [59_999, '59.9 s'],
      [2 * MINUTE + 3 * SECOND, '2 min 3 s'],
      [2 * MINUTE, '2 min'],
      [3 * HOUR + 5 * MINUTE, '3 h 5 min'],
      [50 * HOUR, '2 d 2 h'],
      [-5, '0 ms'],
    ];
    for (const [ms, words] of table) assert.equal(formatDuration(ms), words);
  });

  it('is relative to now, in the past and in the future', () => {
    const now = Date.parse('2026-01-31T12:00:00Z');
    const at = (delta: number) => formatRelativeTime(now, now + delta);
    assert.equal(at(-3 * SECOND), 'just now');
    assert.equal(at(0), 'just now');
    assert.equal(at(3 * SECOND), 'in a few seconds');
    assert.equal(at(7 * SECOND), 'in 7 s');
    assert.equal(at(-3 * MINUTE), '3 min ago');
    assert.equal(at(2 * HOUR), 'in 2 h');
    assert.deepEqual(
      [-72, -47, -24, 24, 48].map((hours) => at(hours * HOUR)),
      ['3 days ago', 'yesterday', 'yesterday', 'tomorrow', 'in 2 days'],
    );
    assert.equal(formatTimeAhead(now, now + 2 * HOUR), 'in 2 h');
    assert.equal(formatTimeAhead(now, now - 3 * MINUTE), 'now', 'a retry that is late is still to come');
    assert.equal(formatUtc('2026-01-31T12:00:00.007Z'), '2026-01-31 12:00:00.007 UTC');
  });

  it('is shown in the local time zone, with UTC in the tooltip', () => {
    const iso = new Date(2026, 0, 31, 9, 5, 7).toISOString();
    assert.equal(formatLocal(iso), '2026-01-31 09:05:07');
    assert.equal(formatClockTime(iso), '09:05:07');
    assert.equal(formatExactTime(iso), `2026-01-31 09:05:07 local time\n${formatUtc(iso)}`);
  });
});

describe('a run in words', () => {
  it('has actors by their names, and says who acted in Temporal', () => {
    const table: [string, string][] = [
      ['user:ada@example.com', 'ada@example.com'],
      ['key: bt_k3f9', 'key bt_k3f9'],
      ['agent:developer', 'agent developer'],
      ['temporal: ada', 'ada (in Temporal)'],
      ['temporal: unknown', 'unknown (in Temporal)'],
      ['system', 'system'],
    ];
    for (const [label, name] of table) assert.equal(actorName(label), name);
  });

  it('says in a change of state who asks and what', () => {
    const change = { from: 'executing', to: 'paused', by: 'agent:review' };
    const asked = stateChangeText({ ...change, question: { text: 'Which one?' } });
    assert.equal(asked, 'executing → waiting for an answer, asked by agent review: Which one?');
    assert.equal(
      stateChangeText({ ...change, by: 'user:a@b.c', reason: 'lunch' }),
      'executing → paused by a@b.c: lunch',
    );
    const answer = { step: 'review', question: 'Which?', text: 'Euro', by: 'user:a@b.c' };
    const rerun = stateChangeText({ from: 'planning', to: 'executing', answer });
    assert.equal(rerun, 'planning → executing, with the answer of a@b.c: Euro');
    assert.equal(stateChangeText({ from: 'planning', to: 'executing' }), 'planning → executing');
  });

  it('counts its steps', () => {
    const progress = { percent: 40, steps_completed: 2, steps_total: 5, current_step: 'review' };
    assert.equal(progressText({ state: 'executing', progress }), '2 of 5 steps · now: review');
    const done = { percent: 100, steps_completed: 5, steps_total: 5, current_step: null };
    assert.equal(progressText({ state: 'completed', progress: done }), '5 of 5 steps');
  });

  it('says in a list why it failed, and that it is a rerun', () => {
    const error = { code: 'step_failed', step: 'test', message: 'exit code 1' } as const;
    const run = { state: 'failed', errors: [error], rerun_of: null } as const;
    assert.equal(noteOf(run), 'test: exit code 1');
    assert.equal(noteOf({ ...run, rerun_of: 'earlier' }), 'Rerun · test: exit code 1');
    const planning = { code: 'planning_failed', step: null, message: 'no such team' } as const;
    assert.equal(noteOf({ ...run, errors: [planning] }), 'Planning failed: no such team');
    assert.equal(noteOf({ ...run, errors: [] }), '');
    assert.equal(noteOf({ ...run, state: 'cancelled' }), '');
  });

  it('promises a callback only where one comes', () => {
    const outlook = (state: TaskState, status: string) => callbackOutlook({ state, callback: { status } });
    assert.match(outlook('paused', 'pending'), /when the run ends/);
    assert.match(outlook('failed', 'pending'), /starts shortly/);
    assert.match(outlook('cancelled', 'none'), /send no callback/);
    assert.equal(outlook('completed', 'delivered'), '');
  });

  it('has errors in words, not as codes', () => {
    const titles = RUN_ERROR_CODES.map(errorTitle);
    assert.equal(new Set(titles).size, RUN_ERROR_CODES.length);
    for (const title of titles) assert.match(title, /^[A-Z][A-Za-z ]+$/);
  });

  it('has the step that escalated as escalated, and no other step', () => {
    const failed = { name: 'design', status: 'failed' } as const;
    assert.equal(shownStatus(failed, { escalation: { step: 'design' } }), 'escalated');
    assert.equal(shownStatus(failed, { escalation: { step: 'review' } }), 'failed');
    assert.equal(shownStatus(failed, { escalation: null }), 'failed');
    assert.equal(
      shownStatus({ ...failed, status: 'completed' }, { escalation: { step: 'design' } }),
      'completed',
    );
  });

  it('advises to answer an escalation until the run was rerun', () => {
    assert.match(escalationOutlook({ reruns: [] }), /Your answer reruns it from this step\.$/);
    assert.match(escalationOutlook({ reruns: ['again'] }), /was rerun\.$/);
  });
});

describe('an entry of the audit log', () => {
  it('says that a person with an invitation joined, and that an admin added a person', () => {
    const [ada, ben] = ['user:0197', 'user:0198'];
    const entry = { action: 'member.added', actor: ada, subject: ada } as const;
    assert.equal(actionText(entry), 'joined the workspace');
    assert.equal(actionText({ ...entry, subject: ben }), 'added a member');
  });

  it('has projects by their names', () => {
    const entry = { subject_label: 'CI', detail: { name: 'CI', project_id: '0197' } };
    assert.equal(
      detailsOf(entry, () => 'Web shop'),
      'project: Web shop',
    );
  });

  it('has times in the local time zone', () => {
    const since = '2026-01-31T10:00:00.000Z';
    const entry = { subject_label: 'Billing', detail: { count: 3, since } };
    assert.equal(detailsOf(entry, String), `count: 3, since: ${formatLocal(since)}`);
  });
});

describe('the name of a browser', () => {
  it('is not the name of a browser that it imitates', () => {
    const chrome = 'AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Safari/537.36';
    const table: [string | null, string][] = [
      ['Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0', 'Firefox on Linux'],
      [`Mozilla/5.0 (Linux; Android 15) ${chrome}`, 'Chrome on Android'],
      [`Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${chrome} Edg/140.0`, 'Edge on Windows'],
      [
        'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Safari/604.1',
        'Safari on iPhone',
      ],
      ['baton/1.0 (node)', 'baton/1.0 (node)'],
      [null, 'unknown'],
    ];
    for (const [words, name] of table) assert.equal(browserName(words), name);
  });
});

describe('filters in a URL', () => {
  it('are readable text', () => {
    const text = stringifySearch({ state: ['failed', 'paused'], text: 'a b', run: undefined, type: [] });
    assert.equal(text, '?state=failed,paused&text=a+b');
    assert.deepEqual(parseSearch(text), { state: 'failed,paused', text: 'a b' });
  });

  it('drop unknown values', () => {
    assert.deepEqual(parseList('paused,nonsense,failed', ['failed', 'paused']), ['failed', 'paused']);
    assert.equal(parseList('nonsense', ['failed']), undefined);
  });
});

describe('a task as a curl command', () => {
  it('escapes quotes', () => {
    const command = asCurl('https://baton.example.com', { title: "it's; rm -rf /" });
    assert.ok(command.includes(String.raw`it'\''s; rm -rf /`));
  });
});

describe('the timeline of a run', () => {
  const at = (seconds: number) =>
    new Date(Date.parse('2026-01-31T12:00:00Z') + seconds * SECOND).toISOString();
  const event = (seq: number, type: FeedEventType, seconds: number, data: object): FeedEvent => ({
    seq,
    type,
    execution_id: 'x',
    at: at(seconds),
    data: data as Record<string, unknown>,
  });
  const step: Step = {
    id: 's1',
    name: 'design',
    agent: 'architect',
    status: 'completed',
    attempt: 2,
    started_at: at(1),
    completed_at: at(9),
    duration_ms: 8_000,
    summary: null,
    usage: null,
    error: null,
  };
  const run = { created_at: at(0), started_at: at(0), completed_at: at(10), steps: [step], escalation: null };
  const stepData = (attempt: number) => ({ step: { id: 's1', name: 'design', agent: 'architect', attempt } });
  const events = [
    event(1, 'state.changed', 0, { from: 'initializing', to: 'planning' }),
    event(2, 'state.changed', 1, { from: 'planning', to: 'executing' }),
    event(3, 'step.started', 1, stepData(1)),
    event(4, 'step.failed', 3, stepData(1)),
    event(5, 'state.changed', 4, { from: 'executing', to: 'paused' }),
    event(6, 'state.changed', 6, { from: 'paused', to: 'executing' }),
    event(7, 'step.started', 6, stepData(2)),
    event(8, 'step.completed', 9, stepData(2)),
  ];

  it('has planning, every attempt and every pause', () => {
    const timeline = timelineOf(run, events, Date.parse(at(99)));
    assert.deepEqual(timeline.planning, { from: Date.parse(at(0)), to: Date.parse(at(1)) });
    assert.deepEqual(timeline.pauses, [{ from: Date.parse(at(4)), to: Date.parse(at(6)) }]);
    assert.deepEqual(
      timeline.attempts.get('s1')?.map(({ number, outcome }) => [number, outcome]),
      [
        [1, 'failed'],
        [2, 'completed'],
      ],
    );
    assert.deepEqual(shareOf({ from: Date.parse(at(5)), to: null }, timeline), { left: 50, width: 50 });
  });

  it('has an attempt that escalated as escalated, with and without its events', () => {
    const escalated = {
      ...run,
      steps: [{ ...step, status: 'failed' as const }],
      escalation: { step: 'design' },
    };
    const asked = event(8, 'escalation.requested', 9, stepData(2));
    for (const known of [[...events.slice(0, -1), asked], []]) {
      const timeline = timelineOf(escalated, known, Date.parse(at(99)));
      assert.equal(timeline.attempts.get('s1')?.at(-1)?.outcome, 'escalated');
    }
  });

  it('can be zoomed to a step that is a small part of the run', () => {
    const long = { ...run, completed_at: at(1_000) };
    const timeline = timelineOf(long, events, Date.parse(at(9_999)));
    const span = spanOfStep(timeline, 's1');
    assert.deepEqual(span, { from: Date.parse(at(0.2)), to: Date.parse(at(9.8)) });
    const [first, second] = timeline.attempts.get('s1') ?? [];
    assert.ok(span && first && second);
    assert.ok(isIn(first, span) && isIn(second, span));
    assert.ok(!isIn({ from: Date.parse(at(20)), to: null }, span));
    assert.ok(!isIn({ from: Date.parse(at(0)), to: Date.parse(at(0.1)) }, span));
    assert.ok(shareOf(first, span).width > 20);
    assert.equal(
      spanOfStep(timelineOf(run, events, Date.parse(at(99))), 's1'),
      null,
      'it is most of the run',
    );
    assert.equal(spanOfStep(timeline, 'another'), null);
  });

  it('uses the steps of the run while its events are loading', () => {
    const running = { ...step, status: 'running', completed_at: null, duration_ms: null } as const;
    const timeline = timelineOf({ ...run, completed_at: null, steps: [running] }, [], Date.parse(at(20)));
    assert.deepEqual(timeline.attempts.get('s1'), [
      { number: 2, from: Date.parse(at(1)), to: null, outcome: 'running' },
    ]);
    assert.equal(timeline.to, Date.parse(at(20)));
  });
});
