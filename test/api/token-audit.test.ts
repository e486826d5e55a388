import assert from 'node:assert/strict';
import { randomUUIDv7 } from 'node:crypto';
import { pino } from 'pino';
import { tokenRoutes } from '../../src/api/account/tokens.ts';
import type { Dependencies } from '../../src/api/dependencies.ts';
import type { Call } from '../../src/api/http/route.ts';
import { createProject } from '../../src/database/people/projects.ts';
import { useInstallation } from '../support/installation.ts';

describe('the audit entries of tokens', () => {
  const fresh = useInstallation();

  it('are one in an hour for each person and project', async () => {
    let now = new Date();
    const { workspace_id: workspaceId, project_id: projectId } = fresh.installation;
    const plan = { workspaceId, key: 'NEXT', name: 'Next', actor: 'system', now };
    const other = await createProject(fresh.database, plan);
    assert.ok(other);
    const tokens = { issue: async () => ({ token: 'x', expiresAt: now }) };
    const deps = { database: fresh.database, tokens, clock: () => now, log: pino({ level: 'silent' }) };
    const [route] = tokenRoutes(deps as unknown as Dependencies);
    const create = async (userId: string, project: string) => {
      const caller = {
        kind: 'person',
        workspaceId,
        userId,
        actor: `user:${userId}`,
        scopes: [],
        sessionId: 's',
      };
      await route?.handle({ caller, body: { project_id: project } } as unknown as Call);
    };
    const [one, two] = [randomUUIDv7(), randomUUIDv7()];
    const entries = async () => {
      const rows = await fresh.database.em
        .fork()
        .execute(`select subject from audit_log where action = 'token.created'`);
      return rows.map(({ subject }) => String(subject)).toSorted();
    };
    for (const user of [one, one, two]) await create(user, projectId);
    await create(one, other.id);
    const first = [`project:${projectId}`, `project:${projectId}`, `project:${other.id}`];
    assert.deepEqual(await entries(), first.toSorted());
    now = new Date(now.getTime() + 3_600_000);
    await create(one, projectId);
    assert.deepEqual(await entries(), [...first, `project:${projectId}`].toSorted());
  });
});
