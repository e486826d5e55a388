import assert from 'node:assert/strict';
import { invitationMail } from '../../src/mail/invitation.ts';
import { oneLine } from '../../src/mail/one-line.ts';
import { taskAskedMail } from '../../src/mail/task-asked.ts';
import { taskEscalatedMail } from '../../src/mail/task-escalated.ts';

const BASE_URL = 'https://baton.example.com';
const AT = new Date('2026-01-31T12:34:56.789Z');
const TASK = {
  executionId: '0192-id',
  title: 'Ship it',
  project: 'Shop',
  step: 'deploy',
  agent: 'developer',
};
const PLACE = { workspace: 'Acme', person: 'Ann' };
/** Names with several lines. */
const IN_LINES = {
  title: 'A\r\nBcc: x',
  project: 'B\nC',
  workspace: 'D\nE',
  step: 'F\nG',
  agent: 'H\nI',
  person: 'J\nK',
};

describe('the mail about a question', () => {
  const mail = (members = {}) =>
    taskAskedMail({ ...TASK, ...PLACE, question: 'Now?', askedAt: AT, ...members }, BASE_URL);

  it('says who asked what, when and where, and how to answer', () => {
    assert.deepEqual(mail(), {
      subject: 'Task Ship it waits for your answer',
      text: `Hello Ann,

the task "Ship it" of the project "Shop" waits for your answer. At 2026-01-31 12:34 UTC, developer asked in the step deploy:

Now?

The run is paused until someone answers. Open the run to answer, or to cancel it:
https://baton.example.com/orchestration/0192-id

You receive this mail because you can manage tasks in the workspace "Acme".
`,
    });
  });

  it('leaves out an unknown step, agent and name', () => {
    const { text } = mail({ step: null, agent: null, person: ' ' });
    assert.match(text, /^Hello colleague,\n/);
    assert.match(text, /12:34 UTC, an agent asked:\n\nNow\?\n/);
  });

  it('does not allow texts of others to add lines', () => {
    const { subject, text } = mail({ ...IN_LINES, question: 'L\nM' });
    assert.equal(subject, 'Task A Bcc: x waits for your answer');
    assert.equal(text.split('\n').length, mail().text.split('\n').length);
  });
});

describe('the mail about an escalated run', () => {
  const mail = (members = {}) =>
    taskEscalatedMail({ ...TASK, ...PLACE, reason: 'Who signs?', escalatedAt: AT, ...members }, BASE_URL);

  it('says who escalated it, when, where and why, and what to do', () => {
    assert.deepEqual(mail(), {
      subject: 'Task Ship it needs your decision',
      text: `Hello Ann,

the task "Ship it" of the project "Shop" needs your decision. At 2026-01-31 12:34 UTC, developer escalated it in the step deploy:

Who signs?

The run has ended. Its completed steps are kept. Open the run to see the details or to rerun it from any step:
https://baton.example.com/orchestration/0192-id

You receive this mail because you can manage tasks in the workspace "Acme".
`,
    });
  });

  it('leaves out an unknown step, agent and name', () => {
    const { text } = mail({ step: null, agent: null, person: '' });
    assert.match(text, /^Hello colleague,\n/);
    assert.match(text, /12:34 UTC, an agent escalated it:\n\nWho signs\?\n/);
  });

  it('does not allow texts of others to add lines', () => {
    const { subject, text } = mail({ ...IN_LINES, reason: 'L\nM' });
    assert.equal(subject, 'Task A Bcc: x needs your decision');
    assert.equal(text.split('\n').length, mail().text.split('\n').length);
  });
});

describe('the mail with an invitation', () => {
  const url = `${BASE_URL}/join#secret`;
  const mail = (members = {}) =>
    invitationMail({ inviter: 'Ann', workspace: 'Acme', role: 'member', expiresAt: AT, url, ...members });

  it('says who invites to what, until when, and contains the link', () => {
    assert.deepEqual(mail(), {
      subject: 'Invitation to Acme',
      text: `Hello,

Ann invites you to the workspace "Acme" on Baton, as member.

Open this link to join. It works once and expires at 2026-01-31 12:34 UTC:
https://baton.example.com/join#secret

Do not share the link. Anyone who has it can join in your place.
If you did not expect this mail, ignore it.
`,
    });
  });

  it('names an unknown inviter an admin', () => {
    for (const inviter of [null, '\n'])
      assert.match(mail({ inviter }).text, /^Hello,\n\nAn admin invites you/);
  });

  it('does not allow names to add lines', () => {
    const { subject, text } = mail({ inviter: 'A\nB', workspace: 'C\r\nBcc: x' });
    assert.equal(subject, 'Invitation to C Bcc: x');
    assert.equal(text.split('\n').length, mail().text.split('\n').length);
  });
});

describe('a text of others in a mail', () => {
  it('is one line without a full stop, of limited length', () => {
    const rows = [
      [' A\t\r\nB\u2028\u2029C\u0085D ', 'A B C D'],
      ['Done.', 'Done'],
      ['Wait..', 'Wait.'],
      ['1.5', '1.5'],
      [' . ', ''],
      ['x'.repeat(400), 'x'.repeat(400)],
      ['x'.repeat(401), 'x'.repeat(400)],
    ] as const;
    for (const [text, line] of rows) assert.equal(oneLine(text), line);
  });

  it('is whole if it is a question or a reason of the longest length', () => {
    const question = 'q'.repeat(4_000);
    const asked = taskAskedMail({ ...TASK, ...PLACE, question, askedAt: AT }, BASE_URL);
    assert.ok(asked.text.includes(`\n${question}\n`));
    const reason = 'r'.repeat(1_000);
    const escalated = taskEscalatedMail({ ...TASK, ...PLACE, reason, escalatedAt: AT }, BASE_URL);
    assert.ok(escalated.text.includes(`\n${reason}\n`));
  });
});
