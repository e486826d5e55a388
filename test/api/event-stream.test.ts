import assert from 'node:assert/strict';
import { getEventListeners, once } from 'node:events';
import type { Caller } from '../../src/api/http/caller.ts';
import type { Dependencies } from '../../src/api/dependencies.ts';
import { findRunStatus } from '../../src/database/tasks/task-runs.ts';
import { Problem } from '../../src/api/http/problem.ts';
import type { Call } from '../../src/api/http/route.ts';
import { eventStream } from '../../src/api/tasks/events.ts';
import { taskRoutes } from '../../src/api/tasks/routes.ts';
import { createTaskLimits } from '../../src/api/tasks/task-limits.ts';
import { useInstallation } from '../support/installation.ts';
import { quietRun, writeEvents } from '../gateway/quiet-runs.ts';

describe('the event stream of a run', () => {
  const fresh = useInstallation();

  async function setUp() {
    const subscribed = new Set<string>();
    const notifications = {
      subscribe(channel: string, id: string) {
        subscribed.add(`${channel} ${id}`);
        return () => void subscribed.delete(`${channel} ${id}`);
      },
    };
    const deps = {
      database: fresh.database,
      notifications,
      readRunStatus: (id: string) => findRunStatus(fresh.database, id),
      clock: () => new Date(0),
    } as unknown as Dependencies;
    const executionId = await quietRun(fresh.database, fresh.installation);
    await writeEvents(fresh.database, executionId, { count: 1, bytes: 1 });
    const gone = new AbortController();
    const caller = { kind: 'key', keyId: 'key-1' } as Caller;
    const stream = eventStream(deps, { caller, executionId, after: 0, signal: gone.signal });
    /** Reads until a text matches. */
    const reads = async (pattern: RegExp): Promise<void> => {
      while (!pattern.test(String((await once(stream, 'data'))[0])));
    };
    return { subscribed, gone, stream, reads, executionId };
  }

  it('leaves nothing behind when the client disconnects', async () => {
    const { subscribed, gone, stream, reads, executionId } = await setUp();
    await reads(/^id: 1\n/);
    assert.deepEqual([...subscribed], [`feed ${executionId}`, 'credentials key-1']);
    gone.abort();
    await once(stream, 'close');
    assert.deepEqual([[...subscribed], getEventListeners(gone.signal, 'abort')], [[], []]);
  });
});

describe('the requests about a run that last', () => {
  const fresh = useInstallation();

  it('count towards the limits of waiting requests and of event streams', async () => {
    const full = () => {
      throw new Problem('rate_limited', 'Too many.');
    };
    const clock = () => new Date();
    const control = { view: async () => null };
    const deps = { database: fresh.database, control, clock } as unknown as Dependencies;
    const limits = { ...createTaskLimits({ clock }), waits: { counted: full }, streams: { counted: full } };
    const routes = taskRoutes(deps, limits);
    const { project_id: projectId, workspace_id: workspaceId } = fresh.installation;
    const call = {
      params: { execution_id: await quietRun(fresh.database, fresh.installation) },
      query: {},
      caller: { kind: 'key', projectId, workspaceId, scopes: ['tasks:read'] },
      headers: { prefer: 'wait=60' },
      mediaType: 'text/event-stream',
      signal: () => new AbortController().signal,
    } as unknown as Call;
    for (const operation of ['readTask', 'readTaskEvents']) {
      const route = routes.find(({ operationId }) => operationId === operation);
      await assert.rejects(async () => await route?.handle(call), { code: 'rate_limited' }, operation);
    }
  });
});
