import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { createArtifactActivities } from '../../src/activities/agents/artifacts.ts';
import { MAX_ARTIFACT_BYTES, MAX_ARTIFACTS } from '../../src/domain/common/limits.ts';
import { addWorkspace } from '../support/people.ts';
import { assertProblem } from './problems.ts';
import { useWorld } from '../support/world.ts';

describe('the artifacts of a run', function () {
  const world = useWorld();

  const list = async (id: string) => (await world.send('GET', `/api/v1/tasks/${id}/artifacts`)).json.data;
  const fetchOne = (id: string, name: string) =>
    world.send('GET', `/api/v1/tasks/${id}/artifacts/${encodeURIComponent(name)}`);

  async function submitted(rehearsal: Record<string, unknown> = {}): Promise<string> {
    const { json } = await world.submit({ metadata: { rehearsal: { steps: 2, ...rehearsal } } });
    return json.execution_id;
  }
  const finished = async (rehearsal = {}) => {
    const id = await submitted(rehearsal);
    return (await world.reaches(id, 'completed')).json;
  };
  /** Returns the id of a run that executes, and a function that saves an artifact for it like an agent. */
  async function saving() {
    const run = (await world.reaches(await submitted({ step_ms: 600_000 }), 'executing')).json;
    const { saveArtifact } = createArtifactActivities({ database: world.database, clock: () => new Date() });
    const step = { executionId: run.execution_id, stepId: run.steps[0].id };
    const save = (input: unknown) => saveArtifact({ place: step, agent: 'writer', input });
    return { id: run.execution_id as string, save };
  }

  it('are in its output and in its list, and can be downloaded', async () => {
    const text = '# Größe\n';
    const artifact = { step: 1, name: 'design notes.md', media_type: 'text/markdown', text };
    const run = await finished({ artifact });
    const size = Buffer.byteLength(text);
    const [step] = run.steps;
    const expected = {
      name: artifact.name,
      media_type: 'text/markdown',
      size,
      step: step.name,
      agent: step.agent,
    };
    assert.deepEqual(run.output.artifacts, [expected]);
    const [listed] = await list(run.execution_id);
    assert.equal(listed.sha256, createHash('sha256').update(text).digest('hex'));
    assert.deepEqual({ ...expected, url: listed.url }, pick(listed, [...Object.keys(expected), 'url']));
    const { status, headers, text: body } = await world.send('GET', new URL(listed.url).pathname);
    assert.equal(status, 200);
    assert.equal(body, text);
    assert.equal(headers.get('content-type'), 'text/markdown; charset=utf-8');
    assert.equal(headers.get('content-length'), String(size));
    assert.match(headers.get('content-disposition') ?? '', /^attachment; filename="design notes.md"/);
    assert.equal(headers.get('x-content-type-options'), 'nosniff');
    assert.match(headers.get('content-security-policy') ?? '', /^sandbox; default-src 'none'/);
  });

  it('are an empty list for a run without artifacts', async () => {
    const run = await finished();
    assert.deepEqual(run.output.artifacts, []);
    assert.deepEqual(await list(run.execution_id), []);
    assertProblem(await fetchOne(run.execution_id, 'x'), 404, 'not_found');
    assertProblem(await fetchOne(run.execution_id, 'x\u0000'), 404, 'not_found');
  });

  it('are never served as a page, regardless of their media type', async () => {
    const { id, save } = await saving();
    const types = [
      'text/html',
      'image/svg+xml',
      'application/xhtml+xml',
      'text/javascript',
      'application/pdf',
    ];
    for (const [index, media_type] of types.entries()) {
      const name = `page-${index}`;
      await save({ name, media_type, content: '<script>alert(1)</script>' });
      const { headers } = await fetchOne(id, name);
      assert.equal(headers.get('content-type'), 'application/octet-stream', media_type);
      assert.match(headers.get('content-disposition') ?? '', /^attachment;/);
    }
  });

  it('keep their bytes, and replace artifacts of the same name', async () => {
    const { id, save } = await saving();
    const bytes = Buffer.from([0, 255, 1, 254, 10]);
    const draft = { name: 'é "quoted%.bin', media_type: 'application/octet-stream' };
    assert.equal((await save({ ...draft, content: 'x' })).artifact, null, 'a name with quotes is refused');
    const name = 'é (1).bin';
    await save({ ...draft, name, content: 'first' });
    const again = { ...draft, name, content: bytes.toString('base64'), encoding: 'base64' };
    assert.deepEqual((await save(again)).artifact, { name, media_type: draft.media_type, size: 5 });
    const { data } = (await world.send('GET', `/api/v1/tasks/${id}/artifacts`)).json;
    assert.equal(data.length, 1);
    const answer = await fetch(data[0].url.replace(/^http:\/\/[^/]+/, world.api.url), {
      headers: { 'X-API-Key': world.installation.api_key },
    });
    assert.deepEqual(Buffer.from(await answer.arrayBuffer()), bytes);
    assert.match(answer.headers.get('content-disposition') ?? '', /filename\*=UTF-8''%C3%A9%20%281%29\.bin$/);
  });

  const WRONG: ReadonlyArray<readonly [what: string, members: Record<string, unknown>, message: RegExp]> = [
    ['a path', { name: '../etc/passwd' }, /file name/],
    ['a hidden file', { name: '.env' }, /file name/],
    ['a name that ends with a dot', { name: 'a.' }, /file name/],
    ['no name', { name: '' }, /file name/],
    ['a long name', { name: 'a'.repeat(201) }, /200 characters/],
    ['a type with parameters', { media_type: 'text/html; x=1' }, /media type/],
    ['no type', { media_type: undefined }, /media type/],
    ['content that is not a string', { content: { a: 1 } }, /must be a string/],
    ['invalid base64', { content: 'a%%%', encoding: 'base64' }, /not valid base64/],
    ['another encoding', { encoding: 'hex' }, /text or base64/],
    ['too many bytes', { content: 'x'.repeat(MAX_ARTIFACT_BYTES + 1) }, /1048577 bytes/],
  ];
  it('are rejected with the reason if they are invalid', async () => {
    const { id, save } = await saving();
    for (const [what, members, message] of WRONG) {
      const { answer, artifact } = await save({
        name: 'a',
        media_type: 'text/plain',
        content: 'x',
        ...members,
      });
      assert.deepEqual([answer.is_error, artifact], [true, null], what);
      assert.match(answer.text, message, what);
    }
    assert.deepEqual(await list(id), []);
    assert.equal((await save(null)).answer.is_error, true);
  });

  it('are limited in number, even if they are saved simultaneously', async () => {
    const { id, save } = await saving();
    const all = await Promise.all(
      Array.from({ length: MAX_ARTIFACTS + 5 }, (_, number) =>
        save({ name: `n${number}`, media_type: 'text/plain', content: 'x' }),
      ),
    );
    assert.equal(all.filter(({ artifact }) => artifact !== null).length, MAX_ARTIFACTS);
    assert.equal((await list(id)).length, MAX_ARTIFACTS);
    const [kept] = await list(id);
    assert.ok((await save({ name: kept.name, media_type: 'text/plain', content: 'y' })).artifact, 'replaced');
  });

  it('are neither stored nor replaced after the run has ended', async () => {
    const { id, save } = await saving();
    const draft = { name: 'a.txt', media_type: 'text/plain' };
    assert.ok((await save({ ...draft, content: 'in time' })).artifact);
    await world.send('POST', `/api/v1/tasks/${id}/cancel`);
    await world.reaches(id, 'cancelled');
    for (const name of ['a.txt', 'b.txt']) {
      const { answer, artifact } = await save({ ...draft, name, content: 'too late' });
      assert.deepEqual([answer.is_error, answer.text, artifact], [true, 'the task has ended', null]);
    }
    assert.equal((await list(id)).length, 1);
    assert.equal((await fetchOne(id, 'a.txt')).text, 'in time');
  });

  it('are copied with the kept steps to a rerun', async () => {
    const artifact = { step: 1, name: 'a.txt', text: 'kept' };
    const run = await finished({ artifact });
    const { json } = await world.send('POST', `/api/v1/tasks/${run.execution_id}/rerun`, {
      body: { from_step: 'step-2' },
    });
    const again = (await world.reaches(json.execution_id, 'completed')).json;
    assert.deepEqual(again.output.artifacts, run.output.artifacts);
    await world.send('DELETE', `/api/v1/tasks/${run.execution_id}`);
    assert.equal((await fetchOne(json.execution_id, 'a.txt')).text, 'kept');
    const [listed] = await list(json.execution_id);
    assert.equal(listed.step, 'step-1');
  });

  it('are hidden from other workspaces, and erased with the run', async () => {
    const run = await finished({ artifact: { step: 1, name: 'a.txt', text: 'mine' } });
    const key = await addWorkspace(world);
    const path = `/api/v1/tasks/${run.execution_id}/artifacts`;
    assertProblem(await world.send('GET', path, { key }), 404, 'not_found');
    assertProblem(await world.send('GET', `${path}/a.txt`, { key }), 404, 'not_found');
    await world.send('DELETE', `/api/v1/tasks/${run.execution_id}`);
    assertProblem(await world.send('GET', `${path}/a.txt`), 404, 'not_found');
  });
});

function pick(from: Record<string, unknown>, names: string[]): Record<string, unknown> {
  return Object.fromEntries(names.map((name) => [name, from[name]]));
}
