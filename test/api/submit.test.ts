import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { useCallbackReceiver } from '../support/callback-receiver.ts';
import { eventually } from '../support/eventually.ts';
import { addPerson } from '../support/people.ts';
import { useWorld } from '../support/world.ts';

describe('the task API', () => {
  const world = useWorld();
  const receiver = useCallbackReceiver();

  it('returns 201 with the four members and a Location header', async () => {
    const { status, headers, json } = await world.submit();
    assert.equal(status, 201);
    assert.deepEqual(Object.keys(json), ['execution_id', 'status_url', 'websocket_room', 'callback_secret']);
    assert.match(json.execution_id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    assert.equal(json.websocket_room, `workflow:${json.execution_id}`);
    assert.match(json.callback_secret, /^[0-9a-f]{64}$/);
    assert.equal(headers.get('location'), json.status_url);
    assert.ok(json.status_url.endsWith(`/api/v1/tasks/${json.execution_id}`));
  });

  it('returns the submitted values, and the result after the run has completed', async () => {
    const metadata = { ticket: 'A-1', nested: { list: [1, 2.5, null, 'é😀'] }, ['__proto__']: 'x' };
    const description = 'Line one\nline two';
    const sent = { title: '  Wünsche ✓', description, task_type: 'bug', metadata };
    const { json: submitted } = await world.submit(sent);
    const { json } = await world.reaches(submitted.execution_id, 'completed');
    assert.equal(json.title, sent.title);
    assert.equal(json.description, description);
    assert.equal(json.task_type, 'bug');
    assert.equal(JSON.stringify(json.metadata), JSON.stringify(metadata));
    assert.equal(json.progress.percent, 100);
    assert.equal(json.output.backend, 'rehearsal');
    assert.equal(json.callback.status, 'none');
    assert.deepEqual(json.errors, []);
    assert.equal(json.duration_ms, Date.parse(json.completed_at) - Date.parse(json.started_at));
  });

  it('returns the metadata in its order, even if names look like numbers', async () => {
    const metadata = `{"zebra":1,"10":{"b":"\\"json-text\\u00e9","7":[{"x":null,"3":true}]},"2":"a","alpha":-0.5}`;
    const shown = `"metadata":${metadata.replace('\\u00e9', 'é')},`;
    const { project_id } = world.installation;
    const raw = `{"title":"In order", "metadata": ${metadata.replaceAll(',', ' ,\n ')}, "project_id":"${project_id}"}`;
    const headers = { 'Content-Type': 'application/json' };
    const { json: submitted } = await world.send('POST', '/api/v1/tasks', { raw, headers });
    const path = `/api/v1/tasks/${submitted.execution_id}`;
    await world.reaches(submitted.execution_id, 'completed');
    const { json: again } = await world.send('POST', `${path}/rerun`, {});
    const answers = [
      await world.send('GET', path),
      await world.send('GET', '/api/v1/tasks?metadata.2=a&metadata.zebra=1'),
      await world.send('GET', `/api/v1/tasks/${again.execution_id}`),
    ];
    for (const { text } of answers) assert.ok(text.includes(shown), text);
  });

  it('returns the members of a task in a fixed order, without the secret', async () => {
    const { json: submitted } = await world.submit();
    const { text, json } = await world.reaches(submitted.execution_id, 'completed');
    assert.deepEqual(Object.keys(json), DETAIL_ORDER);
    assert.ok(!text.includes(submitted.callback_secret));
    assert.ok(!world.logged().includes(submitted.callback_secret));
  });

  it('sends a callback signed with the secret of the 201, and logs the attempt', async () => {
    const { json: submitted } = await world.submit({ callback_url: `${receiver.url}/done?x=1` });
    const [request] = await receiver.receives(1);
    const secret: string = submitted.callback_secret;
    const expected = createHmac('sha256', secret)
      .update(request?.body ?? '')
      .digest('hex');
    assert.equal(request?.headers['x-service-signature'], `sha256=${expected}`);
    const path = `/api/v1/tasks/${submitted.execution_id}`;
    const { json: detail } = await world.send('GET', path);
    assert.equal(detail.state, 'completed', 'the run has ended before its callback is sent');
    const { json: log } = await world.send('GET', `${path}/callbacks`);
    assert.equal(log.data.length, 1);
    assert.equal(log.data[0].request_body, request?.body.toString());
    assert.ok(!JSON.stringify(log).includes(secret));
  });

  it('shows viewers no signature of a callback, even if the receiver repeats it', async () => {
    receiver.answering(({ headers }, response) => {
      response.end(JSON.stringify(headers));
      return undefined;
    });
    const { json: submitted } = await world.submit({ callback_url: receiver.url });
    const path = `/api/v1/tasks/${submitted.execution_id}`;
    const repeated = await eventually('the attempt is recorded', async () => {
      const { json } = await world.send('GET', `${path}/callbacks`);
      return json.data[0]?.response_body ?? null;
    });
    const signature = JSON.parse(repeated)['x-service-signature'];
    assert.match(signature, /^sha256=[0-9a-f]{64}$/);
    const viewer = world.as(await addPerson(world, await world.signIn(), 'viewer'));
    const { text, json } = await world.send('GET', `${path}/callbacks`, viewer);
    assert.equal(json.data[0].response_status, 200);
    assert.ok(!text.includes(signature.slice('sha256='.length)));
  });

  it('holds the response to Prefer: wait until the state changes', async () => {
    const { json } = await world.submit({ metadata: { rehearsal: { plan_ms: 60_000 } } });
    const path = `/api/v1/tasks/${json.execution_id}`;
    await world.reaches(json.execution_id, 'planning');
    const held = world.send('GET', path, { headers: { Prefer: 'respond-async, wait=60' } });
    assert.equal(await Promise.race([held, wait(200, 'held')]), 'held');
    await world.send('POST', `${path}/cancel`);
    const later = await held;
    assert.equal(later.headers.get('preference-applied'), 'wait=60');
    assert.equal(later.json.state, 'cancelled');
  });

  it('does not hold the response for a run that has ended', async () => {
    const { json } = await world.submit();
    await world.reaches(json.execution_id, 'completed');
    const running = await world.submit({ metadata: { rehearsal: { plan_ms: 60_000 } } });
    await world.reaches(running.json.execution_id, 'planning');
    const get = (id: string) => world.send('GET', `/api/v1/tasks/${id}`, { headers: { Prefer: 'wait=60' } });
    const held = get(running.json.execution_id);
    const first = await Promise.race([held, get(json.execution_id)]);
    assert.equal(first.json.execution_id, json.execution_id);
    await world.send('POST', `/api/v1/tasks/${running.json.execution_id}/cancel`);
    await held;
  });

  it('does not hold the response for a run in another state than the caller knows', async () => {
    const { json } = await world.submit({ metadata: { rehearsal: { plan_ms: 60_000 } } });
    const path = `/api/v1/tasks/${json.execution_id}`;
    await world.reaches(json.execution_id, 'planning');
    await world.send('POST', `${path}/pause`);
    await world.reaches(json.execution_id, 'paused');
    const get = (Prefer: string) => world.send('GET', path, { headers: { Prefer } });
    const held = get('wait=60; state=paused');
    const { headers, json: detail } = await get('wait=60; state=planning');
    assert.equal(detail.state, 'paused');
    assert.equal(headers.get('preference-applied'), 'wait=60');
    assert.equal(await Promise.race([held, wait(200, 'held')]), 'held');
    await world.send('POST', `${path}/cancel`);
    assert.equal((await held).json.state, 'cancelled');
  });

  it('returns the current state after the preferred wait', async () => {
    const { json } = await world.submit({ metadata: { rehearsal: { plan_ms: 60_000 } } });
    const path = `/api/v1/tasks/${json.execution_id}`;
    await world.reaches(json.execution_id, 'planning');
    const { headers, json: detail } = await world.send('GET', path, { headers: { Prefer: 'wait=1' } });
    assert.equal(detail.state, 'planning');
    assert.equal(headers.get('preference-applied'), 'wait=1');
    await world.send('POST', `${path}/cancel`);
  });
});

const DETAIL_ORDER = [
  'execution_id',
  'state',
  'project_id',
  'title',
  'description',
  'task_type',
  'metadata',
  'progress',
  'steps',
  'created_at',
  'started_at',
  'paused_at',
  'paused_by',
  'paused_ms',
  'completed_at',
  'duration_ms',
  'output',
  'errors',
  'escalation',
  'callback',
  'status_url',
  'websocket_room',
  'last_seq',
  'created_by',
  'rerun_of',
  'rerun_from',
  'question',
  'usage',
  'reruns',
];
