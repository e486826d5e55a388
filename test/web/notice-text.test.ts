import assert from 'node:assert/strict';
import {
  bellRows,
  isUnread,
  noticeText,
  runsDetail,
  runsTitle,
  type Notice,
} from '../../web/components/notifications/notice-text.ts';

const AT = '2026-01-31T12:00:00.000Z';
const notice = (kind: string, given: Partial<Notice> = {}): Notice => ({
  id: 'n',
  kind,
  subject: 'task:x',
  detail: { title: 'Add export', reason: 'Which currency?', question: 'May I?' },
  created_at: AT,
  read_at: null,
  open: true,
  ...given,
});

describe('the bell', () => {
  it('shows up to three runs that need a person one by one', () => {
    const notices = [notice('task.asked'), notice('task.escalated'), notice('task.escalated')];
    assert.deepEqual(
      bellRows(notices, 30),
      notices.map((one) => ({ kind: 'notice', notice: one })),
    );
  });

  it('shows more runs that need a person as one row, before the others', () => {
    const done = notice('task.asked', { open: false });
    const disabled = notice('webhook.disabled');
    const runs = ['task.asked', 'task.escalated', 'task.escalated', 'task.escalated'].map((kind) =>
      notice(kind, { read_at: AT }),
    );
    const [group, ...rest] = bellRows([done, ...runs, disabled], 30);
    assert.deepEqual(group, { kind: 'runs', asked: 1, escalated: 3, isUnread: false });
    assert.deepEqual(rest, [
      { kind: 'notice', notice: done },
      { kind: 'notice', notice: disabled },
    ]);
    assert.equal(bellRows([...runs, notice('task.asked'), done], 1).length, 1);
  });

  it('says how many runs need a person, and for what', () => {
    assert.equal(runsTitle({ asked: 12, escalated: 29 }, false), '41 runs need a person');
    assert.equal(runsTitle({ asked: 0, escalated: 100 }, true), '100 or more runs need a person');
    assert.equal(runsDetail({ asked: 12, escalated: 29 }), '12 wait for an answer, 29 were escalated');
    assert.equal(runsDetail({ asked: 0, escalated: 4 }), '4 were escalated');
    assert.equal(runsDetail({ asked: 3, escalated: 1 }), '3 wait for an answer, 1 was escalated');
  });

  it('counts what was not read and is still open', () => {
    assert.ok(isUnread(notice('task.asked')));
    assert.ok(!isUnread(notice('task.asked', { open: false })));
    assert.ok(!isUnread(notice('task.asked', { read_at: AT })));
  });
});

describe('a notification', () => {
  it('says what is needed while it is open, and what happened afterwards', () => {
    const table: [string, boolean, string, string][] = [
      ['task.asked', true, '“Add export” waits for your answer', 'May I?'],
      ['task.asked', false, '“Add export” asked a question', 'May I?'],
      ['task.escalated', true, '“Add export” needs your decision', 'Which currency?'],
      ['task.escalated', false, '“Add export” was escalated', 'Which currency?'],
      ['webhook.disabled', true, 'A webhook was disabled after repeated failures', 'Which currency?'],
      ['of a later version', true, 'of a later version', ''],
    ];
    for (const [kind, open, title, detail] of table) {
      assert.deepEqual(noticeText(notice(kind, { open })), { title, detail });
    }
  });
});
