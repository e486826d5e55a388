import assert from 'node:assert/strict';
import { recordCall } from '../../src/database/agents/agent-calls.ts';
import { useCallbackReceiver } from '../support/callback-receiver.ts';
import { eventually } from '../support/eventually.ts';
import { failCallback } from '../support/ended-run.ts';
import { services } from '../support/services.ts';
import { useWorld } from '../support/world.ts';
import { assertAccessible, clickUntilAnswered, DIALOG, picture, useScreens } from './screens.ts';

describe('the orchestration screens', () => {
  const world = useWorld();
  const at = useScreens(world);

  const submit = async (title: string, rehearsal: object, fields: object = {}) => {
    const { json } = await world.submit({ title, metadata: { rehearsal }, ...fields });
    return json.execution_id as string;
  };

  it('explain the empty list', async () => {
    await at.go('/');
    await at.page.getByText('No runs yet').waitFor();
    await assertAccessible(at.page, 'the empty list');
    await picture(at.page, 'runs-empty');
  });

  it('validate a task before its submission, and show the run live', async () => {
    const { page } = at;
    await at.go('/orchestration');
    await page.getByRole('button', { name: 'Submit task' }).first().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Submit task', exact: true }).click();
    await dialog.getByText('Must have at least 1 character').waitFor();
    await assertAccessible(page, 'the form of a task', DIALOG);
    await dialog.getByLabel('Title').fill('Add CSV export to orders');
    await dialog.getByLabel('Callback URL').fill('http://example.com');
    await dialog.getByLabel('Metadata').fill('{ "rehearsal": { "step_ms": 60000 } }');
    await dialog.getByRole('button', { name: 'Submit task', exact: true }).click();
    await dialog.getByText('Must start with https://').waitFor();
    await dialog.getByLabel('Callback URL').fill('');
    await dialog.getByRole('button', { name: 'Submit task', exact: true }).click();
    const run = page.getByRole('complementary', { name: 'Run' });
    await run.getByText('live', { exact: true }).waitFor();
    await run.getByText('executing').first().waitFor();
    await run.getByRole('button', { name: 'Pause…' }).click();
    await page.getByLabel('Reason').fill('lunch');
    await page.getByRole('button', { name: 'Pause run' }).click();
    await run.getByText(`Paused by ${world.installation.admin_email}`).waitFor();
    await run.getByText('Reason: lunch').waitFor();
    await run.getByRole('button', { name: 'Continue' }).click();
    await run.getByText('Paused by').waitFor({ state: 'detached' });
    await run.getByText('executing').first().waitFor();
    const id = new URL(page.url()).searchParams.get('run');
    await world.send('POST', `/api/v1/tasks/${id}/cancel`);
    await run.getByText('cancelled').first().waitFor();
    await page.keyboard.press('Escape');
    await run.waitFor({ state: 'detached' });
  });

  it('ask before a task that was not submitted is discarded, and submit it once', async () => {
    const { page } = at;
    await at.go('/orchestration');
    const open = page.getByRole('button', { name: 'Submit task' }).first();
    const dialog = page.getByRole('dialog', { name: 'Submit task' });
    const question = page.getByRole('dialog', { name: 'Discard changes?' });
    await open.click();
    await dialog.getByLabel('Title').waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    // The button has the focus again.
    await page.locator('button:focus', { hasText: 'Submit task' }).waitFor();
    await page.keyboard.press('Enter');
    await dialog.getByLabel('Title').fill('Only once');
    await page.keyboard.press('Escape');
    await question.locator('button:focus', { hasText: 'Keep editing' }).waitFor();
    await page.keyboard.press('Escape');
    await question.waitFor({ state: 'detached' });
    assert.equal(await dialog.getByLabel('Title').inputValue(), 'Only once');
    await dialog.getByRole('button', { name: 'Close' }).click();
    await question.getByRole('button', { name: 'Discard changes' }).click();
    await dialog.waitFor({ state: 'detached' });
    await open.click();
    await dialog.getByLabel('Title').fill('Only once');
    await dialog.getByRole('button', { name: 'Submit task', exact: true }).dblclick();
    await page.getByRole('complementary', { name: 'Run' }).waitFor();
    const { json } = await world.send('GET', '/api/v1/tasks?limit=200');
    const titles = json.data.filter(({ title }: { title: string }) => title === 'Only once');
    assert.equal(titles.length, 1);
  });

  it('ask for a reason before they cancel a run, and record it', async () => {
    const { page } = at;
    const id = await submit('Wrong branch', { step_ms: 60_000 });
    await world.reaches(id, 'executing');
    await at.go(`/orchestration/${id}`);
    await page.getByRole('button', { name: 'Cancel…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Cancel “Wrong branch”?' });
    await dialog.getByText('This ends the run').waitFor();
    await assertAccessible(page, 'the dialog before cancelling', DIALOG);
    await picture(page, 'run-cancel');
    await dialog.getByRole('button', { name: 'Keep running' }).click();
    await dialog.waitFor({ state: 'detached' });
    assert.equal((await world.send('GET', `/api/v1/tasks/${id}`)).json.state, 'executing');
    await page.getByRole('button', { name: 'Cancel…' }).click();
    await dialog.getByLabel('Reason').fill('the branch is gone');
    await dialog.getByRole('button', { name: 'Cancel run' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByText('cancelled', { exact: true }).first().waitFor();
    await world.reaches(id, 'cancelled');
    await page.getByRole('tab', { name: /^Events/ }).click();
    await page
      .getByText(`executing → cancelled by ${world.installation.admin_email}: the branch is gone`)
      .waitFor();
    for (const name of ['Cancel…', 'Pause…']) {
      assert.equal(await page.getByRole('button', { name }).count(), 0, name);
    }
  });

  it('name the button that changes nothing after what stays', async () => {
    const { page } = at;
    const id = await submit('Undecided', { step_ms: 60_000 });
    await world.reaches(id, 'executing');
    await at.go(`/orchestration/${id}`);
    await page.getByRole('button', { name: 'Pause…' }).click();
    await page.getByRole('button', { name: 'Do not pause' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await world.send('POST', `/api/v1/tasks/${id}/pause`);
    await page.getByRole('button', { name: 'Continue' }).waitFor();
    await page.getByRole('button', { name: 'Cancel…' }).click();
    await page.getByRole('button', { name: 'Keep paused' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    assert.equal((await world.send('GET', `/api/v1/tasks/${id}`)).json.state, 'paused');
  });

  it('promise nothing more of a cancelled run: no output, no message, no callback', async () => {
    const { page } = at;
    const fields = { callback_url: 'https://receiver.example/callbacks' };
    const id = await submit('Stopped early', { plan_ms: 60_000 }, fields);
    await world.reaches(id, 'planning');
    await at.go(`/orchestration/${id}`);
    const show = async (tab: string, words: string) => {
      await page.getByRole('tab', { name: tab }).click();
      await page.getByText(words).waitFor();
    };
    await show('Output', 'No output yet');
    await show('Callback', 'The callback is sent when the run ends.');
    await world.send('POST', `/api/v1/tasks/${id}/cancel`);
    await page.getByText('Cancelled runs send no callback.').waitFor();
    for (const [tab, things] of Object.entries({ Output: 'output', Messages: 'messages' })) {
      await page.getByRole('tab', { name: tab }).click();
      await page.getByText(`No ${things}`, { exact: true }).waitFor();
    }
  });

  it('show the failed step first', async () => {
    const id = await submit('A step that fails', { unrecoverable: { step: 2 } });
    await world.reaches(id, 'failed');
    await at.go(`/orchestration/${id}`);
    await at.page.getByRole('heading', { name: /Step .* failed/ }).waitFor();
    const errors = at.page.getByRole('tabpanel', { name: 'Errors' });
    await errors.getByText('Step failed', { exact: true }).waitFor();
    await errors.getByText('step_failed', { exact: true }).waitFor();
  });

  it('show the reason of an escalation first, and rerun it with the answer', async () => {
    const id = await submit('A question for a human', { escalate: { step: 2, reason: 'Which currency?' } });
    await world.reaches(id, 'escalated');
    await at.go(`/orchestration/${id}`);
    await at.page.getByRole('heading', { name: 'Needs your decision: Which currency?' }).waitFor();
    await at.page.getByRole('button', { name: /escalated/ }).waitFor();
    await at.page.getByLabel('Your answer').fill('Euro');
    await at.page.getByRole('button', { name: 'Answer and rerun' }).click();
    await at.page.waitForURL((url) => !url.pathname.endsWith(id));
    await at.page
      .getByText(/(\d) of \1 steps/)
      .first()
      .waitFor();
    await at.page.getByRole('tab', { name: /^Events/ }).click();
    const answered = `with the answer of ${world.installation.admin_email}: Euro`;
    await at.page.getByText(answered).waitFor();
    await at.page.getByRole('link', { name: 'an earlier run' }).click();
    await at.page.getByText('The run has ended, and was rerun.').waitFor();
  });

  it('offer artifacts for download, and show every call', async () => {
    const { page } = at;
    const text = 'It works.\n';
    const artifact = { step: 1, name: 'notes on orders.md', media_type: 'text/markdown', text };
    const id = await submit('Leaves a document', { artifact });
    const { json } = await world.reaches(id, 'completed');
    await recordCall(world.database, {
      place: { executionId: id, stepId: json.steps[0].id, attempt: 1, number: 1 },
      kind: 'model',
      name: 'openai/gpt-x',
      input: { messages: [{ role: 'user', content: 'Which currency?' }] },
      output: { text: 'Euro' },
      truncated: false,
      usage: { input_tokens: 1_200, output_tokens: 34, cost_usd: 0.0123 },
      failure: null,
      startedAt: new Date(),
      duration_ms: 812,
    });
    await at.go(`/orchestration/${id}`);
    await page.getByText('1 model call, 1,200 input tokens, 34 output tokens, $0.0123').waitFor();
    await page.getByRole('tab', { name: 'Documents (1)' }).click();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'notes on orders.md' }).click(),
    ]);
    assert.equal(download.suggestedFilename(), 'notes on orders.md');
    await picture(page, 'run-documents');
    await page.getByRole('tab', { name: /^Calls/ }).click();
    await page.getByRole('button', { name: /openai\/gpt-x/ }).click();
    await page.getByText('"Euro"').waitFor();
    await assertAccessible(page, 'the calls of a run');
    await picture(page, 'run-calls');
  });

  it('list runs live, with filters in the URL', async () => {
    const { page } = at;
    const id = await submit('A long one', { step_ms: 60_000 }, { task_type: 'bug' });
    await at.go('/orchestration');
    const row = page.locator(`[data-run="${id}"]`);
    await row.getByText('executing').waitFor();
    await world.send('POST', `/api/v1/tasks/${id}/cancel`);
    await row.getByText('cancelled').waitFor();
    await page.getByRole('button', { name: 'State', exact: true }).click();
    await page.getByRole('checkbox', { name: 'cancelled' }).check();
    await page.waitForURL('**/orchestration?state=cancelled');
    await page.getByText('A question for a human').first().waitFor({ state: 'detached' });
    await page.reload();
    await row.waitFor();
    const { json } = await world.send('GET', '/api/v1/tasks?state=cancelled');
    assert.equal(await page.locator('[data-run]').count(), json.data.length);
  });
});

describe('the screen of a run', () => {
  const receiver = useCallbackReceiver();
  const world = useWorld();
  const at = useScreens(world);

  it('shows the callback secret once, and the attempts of the callback', async () => {
    const { page } = at;
    receiver.answering(503);
    await at.go('/orchestration');
    await page.getByRole('button', { name: 'Submit task' }).first().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Title').fill('Told');
    await dialog.getByLabel('Callback URL').fill(receiver.url);
    const { callback_secret: secret = '' } = await clickUntilAnswered(page, 'Submit task', '**/api/v1/tasks');
    assert.match(secret, /^[0-9a-f]{64}$/);
    await page.mouse.click(5, 5);
    assert.equal(await dialog.getByLabel('Callback secret').textContent(), secret);
    await assertAccessible(page, 'a callback secret', DIALOG);
    await dialog.getByRole('button', { name: 'Open run' }).click();
    const run = page.getByRole('complementary', { name: 'Run' });
    const link = run.getByRole('link', { name: 'Open in Temporal' });
    const href = await link.getAttribute('href');
    const id = new URL(page.url()).searchParams.get('run') ?? '';
    const { temporalUiUrl, namespace } = services();
    assert.equal(href, `${temporalUiUrl}/namespaces/${namespace}/workflows/${id}`);
    await failCallback(world.database, id);
    await page.reload();
    await run.getByRole('tab', { name: 'Callback' }).click();
    await run.getByText('failed', { exact: true }).first().waitFor();
    await run.getByRole('button', { name: /Attempt 1 of 3/ }).click();
    await run.getByText('Response: 503').first().waitFor();
    await assertAccessible(page, 'the attempts of a callback');
    await picture(page, 'run-callback');
  });

  it('has its failed callback retried, and shows live what happens', async () => {
    const { page } = at;
    receiver.answering(503);
    const { json } = await world.submit({
      callback_url: receiver.url,
      metadata: { rehearsal: { steps: 1 } },
    });
    await failCallback(world.database, json.execution_id);
    await at.go(`/orchestration/${json.execution_id}`);
    await page.getByRole('tab', { name: 'Callback' }).click();
    const retry = page.getByRole('button', { name: 'Retry now' });
    await retry.click();
    await page.getByText('The attempt failed.').waitFor();
    await page.getByText('Manual attempt 2').waitFor();
    const { promise: held, resolve: respond } = Promise.withResolvers<void>();
    receiver.answering((_request, response) => {
      void held.then(() => response.writeHead(204).end());
      return undefined;
    });
    await retry.click();
    await page.getByText('Attempt started.').waitFor();
    await page.getByText('Manual attempt 3').waitFor();
    await page.getByText('in progress').waitFor();
    await assertAccessible(page, 'a callback that is retried');
    respond();
    await page.getByText('Callback delivered.').waitFor();
    assert.equal(await retry.count(), 0);
    await page.getByRole('tab', { name: /^Events/ }).click();
    await page.getByText('manual attempt 3 succeeded: 204').waitFor();
  });

  it('can be rerun from the failed step, and both runs link to each other', async () => {
    const { page } = at;
    const metadata = { rehearsal: { unrecoverable: { step: 2 } } };
    const { json } = await world.submit({ title: 'Again', task_type: 'bug', metadata });
    await world.reaches(json.execution_id, 'failed');
    await at.go(`/orchestration/${json.execution_id}`);
    await page.getByRole('button', { name: 'Rerun…' }).click();
    await assertAccessible(page, 'the dialog before a rerun', DIALOG);
    await page.getByRole('button', { name: 'Rerun', exact: true }).click();
    await page.getByText('kept from the earlier run').waitFor();
    await page.getByRole('link', { name: 'an earlier run' }).click();
    await page.waitForURL(`**/orchestration/${json.execution_id}`);
    await page.getByText('Reruns', { exact: true }).waitFor();
  });

  it('shows every attempt of a step, and can be zoomed to a step', async () => {
    const { page } = at;
    const rehearsal = { steps: 3, step_ms: 300, fail: { step: 2, times: 1 } };
    const { json } = await world.submit({ title: 'Tries twice', metadata: { rehearsal } });
    await world.reaches(json.execution_id, 'completed');
    await at.go(`/orchestration/${json.execution_id}`);
    const bars = (step: string) =>
      page.getByRole('button', { name: new RegExp(`^${step}`) }).locator('[data-outcome]');
    await eventually('there is a bar for each attempt', async () => (await bars('step-2').count()) === 2);
    await page.getByRole('button', { name: /^step-2/ }).click();
    const attempts = page.getByRole('list', { name: 'Attempts of step-2' }).getByRole('listitem');
    await attempts.nth(1).waitFor();
    assert.match((await attempts.allTextContents()).join(), /attempt 1 · failed .*attempt 2 · completed/);
    await page.getByRole('button', { name: /^step-1/ }).click();
    await page.getByRole('button', { name: 'Zoom to this step' }).first().click();
    await bars('step-3').waitFor({ state: 'detached' });
    await assertAccessible(page, 'a part of the time of a run');
    await page.getByRole('button', { name: 'Whole run' }).click();
    await bars('step-3').waitFor();
  });

  it('shows the callback secret once after an escalation was answered', async () => {
    const { page } = at;
    const metadata = { rehearsal: { steps: 2, escalate: { step: 1, reason: 'Which currency?' } } };
    const { json } = await world.submit({ title: 'Escalates', callback_url: receiver.url, metadata });
    await world.reaches(json.execution_id, 'escalated');
    await at.go(`/orchestration/${json.execution_id}`);
    await page.getByLabel('Your answer').fill('Euro');
    await page.getByRole('button', { name: 'Answer and rerun' }).click();
    await page.getByText('The run has ended, and was rerun.').waitFor();
    const dialog = page.getByRole('dialog', { name: 'Run started' });
    assert.match((await dialog.getByLabel('Callback secret').textContent()) ?? '', /^[0-9a-f]{64}$/);
    await dialog.getByRole('button', { name: 'Open run' }).click();
    await page.getByRole('link', { name: 'an earlier run' }).waitFor();
    await dialog.waitFor({ state: 'detached' });
  });

  it('has its question in the bell, which can be answered there', async () => {
    const { page } = at;
    const metadata = { rehearsal: { ask: { step: 2, question: 'Which discount?' } } };
    const { json } = await world.submit({ title: 'Asks in the bell', task_type: 'bug', metadata });
    await world.reaches(json.execution_id, 'paused');
    await at.go('/settings/projects');
    await page.getByRole('button', { name: /^Notifications, \d+ unread/ }).click();
    const notice = page.getByRole('listitem').filter({ hasText: '“Asks in the bell” waits for your answer' });
    await notice.getByText('Which discount?').waitFor();
    await notice.getByRole('button', { name: 'Answer', exact: true }).click();
    await page.locator('textarea:focus').fill('Ten percent');
    await assertAccessible(page, 'a question in the bell', DIALOG);
    await picture(page, 'bell-answer');
    await page.keyboard.press('Control+Enter');
    await page.getByRole('listitem').filter({ hasText: '“Asks in the bell” asked a question' }).waitFor();
    await world.reaches(json.execution_id, 'completed');
  });

  it('is one of the runs that the bell counts if many need a person', async () => {
    const { page } = at;
    const metadata = { rehearsal: { ask: { step: 1, question: 'May I?' } } };
    const ids = await Promise.all(
      ['One', 'Two', 'Three', 'Four'].map(
        async (title) => (await world.submit({ title, metadata })).json.execution_id as string,
      ),
    );
    await Promise.all(ids.map((id) => world.reaches(id, 'paused')));
    await at.go('/settings/projects');
    await page.getByRole('button', { name: /^Notifications, \d+ unread/ }).click();
    await assertAccessible(page, 'many runs in the bell', DIALOG);
    await page.getByRole('link', { name: /\d+ runs need a person/ }).click();
    await page.waitForURL('**/orchestration?needs=me');
    for (const id of ids) await page.locator(`[data-run="${id}"]`).waitFor();
    await Promise.all(ids.map((id) => world.send('POST', `/api/v1/tasks/${id}/cancel`)));
  });

  it('shows its question first, and continues with the answer', async () => {
    const { page } = at;
    const metadata = { rehearsal: { ask: { step: 2, question: 'Which currency?' } } };
    const { json } = await world.submit({ title: 'Asks', task_type: 'bug', metadata });
    await at.go(`/orchestration/${json.execution_id}`);
    await page.getByRole('heading', { name: /asks: Which currency\?/ }).waitFor();
    await page.getByText('waiting for an answer', { exact: true }).waitFor();
    await page.getByLabel('Your answer').fill('Euro');
    await page.getByRole('button', { name: 'Answer and continue' }).click();
    await page.getByText('3 of 3 steps').first().waitFor();
    await page.getByRole('tab', { name: /^Events/ }).click();
    await page.getByText(`by ${world.installation.admin_email}: Euro`).waitFor();
  });
});
