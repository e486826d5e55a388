import assert from 'node:assert/strict';
import { rehearsalSchema } from '../../src/domain/tasks/rehearsal.ts';
import { metadata, rehearsalOf } from '../../src/domain/tasks/task-metadata.ts';
import { submission } from '../../src/domain/tasks/task-submission.ts';
import { foundIn } from './found-problems.ts';

const TASK = { title: 'The sum is wrong', project_id: '019C13EB-B3A0-7000-8000-000000000001' };
const found = (change: Record<string, unknown>) => foundIn(submission, { ...TASK, ...change });

describe('a task to submit', () => {
  it('has a title and a project; all else is optional', () => {
    assert.deepEqual(found({}), []);
    const all = {
      description: '',
      task_type: 'bug',
      callback_url: 'https://example.com',
      metadata: { order: 'A-17' },
    };
    assert.deepEqual(found(all), []);
    assert.deepEqual(foundIn(submission, {}), ['/title required', '/project_id required']);
    assert.deepEqual(found({ other: 1 }), ['/other unknown_member']);
  });

  it('is a feature by default', () => {
    const { task_type: type, project_id: project } = submission.parse(TASK);
    assert.deepEqual([type, project], ['feature', TASK.project_id.toLowerCase()]);
    for (const other of ['feature', 'bug', 'spec', 'chore'])
      assert.deepEqual(found({ task_type: other }), []);
  });

  const wrong: [change: Record<string, unknown>, problem: string][] = [
    [{ title: '' }, '/title too_short'],
    [{ title: ' ' }, '/title blank'],
    [{ title: 'x'.repeat(201) }, '/title too_long'],
    [{ title: 7 }, '/title wrong_type'],
    [{ title: null }, '/title wrong_type'],
    [{ title: 'a\u0000b' }, '/title not_storable'],
    [{ title: 'a\ud800' }, '/title not_storable'],
    [{ description: 'x'.repeat(100_001) }, '/description too_long'],
    [{ task_type: 'epic' }, '/task_type not_allowed'],
    [{ callback_url: 'http://example.com' }, '/callback_url not_https'],
    [{ callback_url: null }, '/callback_url wrong_type'],
    [{ project_id: 'SHOP' }, '/project_id invalid_format'],
    [{ metadata: [] }, '/metadata wrong_type'],
    [{ metadata: { rehearsal: { step: 1 } } }, '/metadata/rehearsal/step unknown_member'],
  ];
  for (const [change, problem] of wrong) {
    it(`is refused: ${JSON.stringify(change).slice(0, 40)}`, () =>
      assert.deepEqual(found(change), [problem]));
  }

  it('has a title of 200 and a description of 100,000 characters at most', () => {
    assert.deepEqual(found({ title: 'x'.repeat(200), description: 'x'.repeat(100_000) }), []);
  });
});

describe('the metadata of a task', () => {
  const ok: unknown[] = [
    {},
    { a: null, b: [1, 2.5, true], c: { d: '😀' } },
    { n: 2 ** 53 - 1 },
    { n: -0.1 },
    nested(64),
    nested(64, { a: true, b: null, c: 'x', d: 1 }),
    { text: 'x'.repeat(16_384 - 11) },
    { text: 'ü'.repeat((16_384 - 12) / 2) },
  ];
  it('are any JSON object that can be returned unchanged', () => {
    for (const value of ok)
      assert.deepEqual(foundIn(metadata, value), [], JSON.stringify(value).slice(0, 50));
  });

  const wrong: [what: string, value: unknown, code: string][] = [
    ['null', null, 'wrong_type'],
    ['an array', [], 'wrong_type'],
    ['a text', 'x', 'wrong_type'],
    ['a NUL character', { a: ['\u0000'] }, 'not_storable'],
    ['a NUL character in a name', { 'a\u0000': 1 }, 'not_storable'],
    ['half of a surrogate pair', { a: { b: '\ud800' } }, 'not_storable'],
    ['a large number', { a: 2 ** 53 }, 'number_not_exact'],
    ['an infinite number', { a: Number.POSITIVE_INFINITY }, 'number_not_exact'],
    ['65 levels', nested(65), 'too_deep'],
    ['65 levels in an array', { a: nested(64) }, 'too_deep'],
    ['more than 16 kB', { text: 'x'.repeat(16_384 - 10) }, 'too_large'],
    ['more than 16 kB in UTF-8', { text: 'ü'.repeat((16_384 - 10) / 2) }, 'too_large'],
  ];
  for (const [what, value, code] of wrong) {
    it(`are refused with ${what}`, () => assert.deepEqual(foundIn(metadata, value), [` ${code}`]));
  }

  it('are returned as they were sent', () => {
    const value = { b: 1, a: ['x', null] };
    assert.deepEqual(metadata.parse(value), value);
  });

  it('are refused with a message that says why', () => {
    const messageOf = (value: unknown) => metadata.safeParse(value).error?.issues[0]?.message;
    assert.deepEqual([{ a: '\u0000' }, { a: 2 ** 53 }, nested(65), []].map(messageOf), [
      'must not contain a NUL character or half of a surrogate pair',
      'contains a number that cannot be returned exactly; send it as a string',
      'must be at most 64 levels deep',
      'must be an object',
    ]);
  });

  it('contain the script of a rehearsal, if any', () => {
    assert.equal(rehearsalOf(undefined), null);
    assert.equal(rehearsalOf({ other: 1 }), null);
    assert.deepEqual(rehearsalOf({ rehearsal: { step_ms: 5 } }), { step_ms: 5 });
    assert.equal(rehearsalOf(Object.create({ rehearsal: {} })), null, 'an inherited field does not count');
    assert.deepEqual(foundIn(metadata, { rehearsal: { step_ms: 5 } }), []);
    assert.deepEqual(foundIn(metadata, { rehearsal: null }), ['/rehearsal wrong_type']);
    assert.deepEqual(foundIn(metadata, { rehearsal: { step_ms: -1 }, a: '\u0000' }), [
      ' not_storable',
      '/rehearsal/step_ms too_small',
    ]);
  });
});

describe('the script of a rehearsal', () => {
  /** For each field with a range: how to set it, its least and its greatest value. */
  const ranges: [field: string, script: (value: number) => unknown, least: number, most: number][] = [
    ['start_ms', (start_ms) => ({ start_ms }), 0, 86_400_000],
    ['plan_ms', (plan_ms) => ({ plan_ms }), 0, 86_400_000],
    ['step_ms', (step_ms) => ({ step_ms }), 0, 86_400_000],
    ['steps', (steps) => ({ steps }), 1, 50],
    ['progress_events', (progress_events) => ({ progress_events }), 0, 1_000],
    ['fail/step', (step) => ({ fail: { step, times: 1 } }), 1, 50],
    ['fail/times', (times) => ({ fail: { step: 1, times } }), 1, 100],
    ['unrecoverable/step', (step) => ({ unrecoverable: { step } }), 1, 50],
    ['escalate/step', (step) => ({ escalate: { step, reason: 'r' } }), 1, 50],
    ['artifact/step', (step) => ({ artifact: { step, name: 'n', text: '' } }), 1, 50],
    ['ask/step', (step) => ({ ask: { step, question: 'q' } }), 1, 50],
  ];
  for (const [field, script, least, most] of ranges) {
    it(`has ${field} from ${least} to ${most}`, () => {
      for (const right of [least, most]) assert.deepEqual(foundIn(rehearsalSchema, script(right)), []);
      assert.deepEqual(foundIn(rehearsalSchema, script(least - 1)), [`/${field} too_small`]);
      assert.deepEqual(foundIn(rehearsalSchema, script(most + 1)), [`/${field} too_large`]);
      assert.deepEqual(foundIn(rehearsalSchema, script(least + 0.5)), [`/${field} wrong_type`]);
    });
  }

  const texts: [field: string, script: (value: string) => unknown, least: number, most: number][] = [
    ['escalate/reason', (reason) => ({ escalate: { step: 1, reason } }), 1, 1_000],
    ['artifact/name', (name) => ({ artifact: { step: 1, name, text: '' } }), 1, 200],
    [
      'artifact/media_type',
      (media_type) => ({ artifact: { step: 1, name: 'n', media_type, text: '' } }),
      1,
      100,
    ],
    ['artifact/text', (text) => ({ artifact: { step: 1, name: 'n', text } }), 0, 10_000],
    ['ask/question', (question) => ({ ask: { step: 1, question } }), 1, 4_000],
  ];
  for (const [field, script, least, most] of texts) {
    it(`has ${field} of ${least} to ${most} characters`, () => {
      for (const right of [least, most])
        assert.deepEqual(foundIn(rehearsalSchema, script('x'.repeat(right))), []);
      assert.deepEqual(foundIn(rehearsalSchema, script('x'.repeat(most + 1))), [`/${field} too_long`]);
      if (least > 0) assert.deepEqual(foundIn(rehearsalSchema, script('')), [`/${field} too_short`]);
    });
  }

  it('can be empty, and has no unknown fields', () => {
    assert.deepEqual(foundIn(rehearsalSchema, {}), []);
    const parts = ['fail', 'unrecoverable', 'escalate', 'artifact', 'ask'];
    for (const part of parts) {
      const problems = foundIn(rehearsalSchema, { [part]: { other: 1 } });
      assert.ok(problems.includes(`/${part}/step required`), part);
      assert.ok(problems.includes(`/${part}/other unknown_member`), part);
    }
    assert.deepEqual(foundIn(rehearsalSchema, { fail: { step: 1 } }), ['/fail/times required']);
    assert.deepEqual(foundIn(rehearsalSchema, { escalate: { step: 1 } }), ['/escalate/reason required']);
    assert.deepEqual(foundIn(rehearsalSchema, { ask: { step: 1 } }), ['/ask/question required']);
    assert.deepEqual(foundIn(rehearsalSchema, { artifact: { step: 1 } }), [
      '/artifact/name required',
      '/artifact/text required',
    ]);
  });
});

/** Returns objects and arrays in turn, nested this deep. */
function nested(levels: number, innermost: unknown = {}): unknown {
  let value = innermost;
  for (let level = 1; level < levels; level += 1)
    value = level % 2 === 0 || level === levels - 1 ? { a: value } : [value];
  return value;
}
