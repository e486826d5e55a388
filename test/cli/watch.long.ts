import assert from 'node:assert/strict';
import { withClient } from '../../dev/services/postgres.ts';
import { eventually } from '../support/eventually.ts';
import { type Service, startService } from '../support/service.ts';
import { steerRun } from '../support/steer-run.ts';
import { type Cli, cliWith } from './cli-process.ts';
import { eventsIn, assertWhole } from './watched.ts';

describe('baton task watch, while the API is killed,', function () {
  this.timeout(180_000);
  let service: Service;
  let cli: Cli;
  before(async () => {
    service = await startService();
    cli = cliWith({ BATON_URL: service.url, BATON_API_KEY: service.installation.api_key });
  });
  after(async () => {
    await cli?.cleanUp();
    await service?.close();
  });

  it('shows every event once, including those of the outage', async () => {
    const ask = { step: 5, question: 'Continue?' };
    const rehearsal = { steps: 8, step_ms: 1_500, progress_events: 4, ask };
    const { execution_id: id } = (await service.submit({ metadata: { rehearsal } })).json;
    const stateIs = (state: string) =>
      withClient(service.databaseUrl, (client) =>
        eventually(`the run is ${state}`, async () => {
          const { rows } = await client.query('select state from task_runs where id = $1', [id]);
          return rows[0]?.state === state;
        }),
      );
    const watching = cli.spawn(['task', 'watch', id, '--json', '-v']);
    await watching.says(/"type":"step.started".*"name":"step-2"/);
    await service.api.kill();
    // The steps until the question run during the outage.
    await stateIs('paused');
    await service.api.start();
    await watching.says(/"to":"paused"/);

    await steerRun(() => service.send('POST', `/api/v1/tasks/${id}/continue`));
    await watching.says(/"type":"step.started".*"name":"step-6"/);
    await service.api.kill();
    await stateIs('completed');
    await service.api.start();
    const done = await watching.ended;
    assert.equal(done.code, 0, done.stderr);
    assertWhole(eventsIn(done));
    assert.equal(eventsIn(done).filter(({ type }) => type === 'step.completed').length, 8);
    assert.doesNotMatch(done.stderr, /following by/);
    await eventually('the watcher has disconnected', async () => {
      const { json } = await service.send('GET', '/health/channel');
      return json.connections === 0;
    });
  });
});
