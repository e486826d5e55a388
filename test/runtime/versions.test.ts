import assert from 'node:assert/strict';
import type { Client } from '@temporalio/client';
import { GRPC } from '../../src/temporal/deadlines.ts';
import { createVersionControl } from '../../src/temporal/versions.ts';

/** The gRPC code of an unreachable service. */
const UNAVAILABLE = 14;
const SPREADING = { workerDeploymentInfo: { routingConfigUpdateState: 1 } };
const FOLLOWED = { workerDeploymentInfo: { routingConfigUpdateState: 2 } };

describe('the versions of the workers', () => {
  /**
   * Returns the operations on a Temporal that gives these responses, one after another, to descriptions and to choices,
   * and the requests that it got. Numbers are codes of errors; the last response is repeated.
   */
  function versionsOf({
    descriptions = [FOLLOWED],
    choices = [{}],
  }: {
    descriptions?: (object | number)[];
    choices?: (object | number)[];
  }) {
    const requests: [string, Record<string, unknown>][] = [];
    const answering = (name: string, responses: (object | number)[]) => async (request: object) => {
      requests.push([name, { ...request }]);
      const [response] = responses.length > 1 ? responses.splice(0, 1) : responses;
      if (typeof response === 'number')
        throw Object.assign(new Error('refused'), { code: response, details: '', metadata: {} });
      return response;
    };
    const client = {
      options: { namespace: 'default' },
      withDeadline: async (_until: unknown, call: () => Promise<unknown>) => await call(),
      workflow: { count: async (query: string) => ({ count: query.includes("'baton:b1'") ? 3 : 0 }) },
      workflowService: {
        describeWorkerDeployment: answering('describe', [...descriptions]),
        setWorkerDeploymentRampingVersion: answering('ramp', [...choices]),
        setWorkerDeploymentCurrentVersion: answering('use', [...choices]),
      },
    } as unknown as Client;
    return { versions: createVersionControl(client, 'baton'), requests };
  }
  const namesOf = (requests: [string, unknown][]) => requests.map(([name]) => name);

  it('are listed with their shares of new workflows, and their open workflows', async () => {
    const summary = (buildId: string, status: unknown) => ({ deploymentVersion: { buildId }, status });
    const summaries = [
      summary('b2', 'WORKER_DEPLOYMENT_VERSION_STATUS_RAMPING'),
      summary('b1', 2),
      summary('b0', 5),
      summary('a9', 'SOMETHING_NEW'),
    ];
    const routingConfig = { rampingDeploymentVersion: { buildId: 'b2' }, rampingVersionPercentage: 20 };
    const info = { versionSummaries: summaries, routingConfig };
    const { versions } = versionsOf({ descriptions: [{ workerDeploymentInfo: info }] });
    assert.deepEqual(await versions.list(), [
      { build: 'b2', status: 'ramping', share: 20, open: 0 },
      { build: 'b1', status: 'current', share: 80, open: 3 },
      { build: 'b0', status: 'drained', share: 0, open: 0 },
      { build: 'a9', status: 'unknown', share: 0, open: 0 },
    ]);
  });

  it('are none before a versioned worker has connected', async () => {
    assert.deepEqual(await versionsOf({ descriptions: [GRPC.notFound] }).versions.list(), []);
    await assert.rejects(versionsOf({ descriptions: [UNAVAILABLE] }).versions.list(), /refused/);
  });

  it('get all new work, or a share of it', async () => {
    const all = versionsOf({});
    assert.equal(await all.versions.use('b2', 100, 0), true);
    assert.deepEqual(namesOf(all.requests), ['use', 'describe']);
    const some = versionsOf({});
    assert.equal(await some.versions.use('b2', 99, 0), true);
    assert.deepEqual(namesOf(some.requests), ['ramp', 'describe']);
    const [, chosen] = some.requests[0] ?? [];
    assert.deepEqual([chosen?.['buildId'], chosen?.['percentage']], ['b2', 99]);
  });

  it('are chosen again while Temporal does not know their workers yet', async () => {
    const { versions, requests } = versionsOf({ choices: [GRPC.failedPrecondition, {}] });
    assert.equal(await versions.use('b2', 100, 10_000), true);
    assert.deepEqual(namesOf(requests), ['use', 'use', 'describe']);
  });

  it('cannot be chosen if Temporal refuses for another reason, or for too long', async () => {
    const refused = versionsOf({ choices: [UNAVAILABLE] });
    await assert.rejects(refused.versions.use('b2', 100, 10_000), /refused/);
    assert.deepEqual(namesOf(refused.requests), ['use']);
    await assert.rejects(versionsOf({ choices: [GRPC.notFound] }).versions.use('b2', 100, -1), /refused/);
  });

  it('are followed only when all task queues follow them', async () => {
    const late = versionsOf({ descriptions: [SPREADING, GRPC.deadlineExceeded, FOLLOWED] });
    assert.equal(await late.versions.use('b2', 100, 10_000), true);
    assert.deepEqual(namesOf(late.requests), ['use', 'describe', 'describe', 'describe']);
    assert.equal(await versionsOf({ descriptions: [SPREADING] }).versions.use('b2', 100, -1), false);
    const failing = versionsOf({ descriptions: [UNAVAILABLE] });
    await assert.rejects(failing.versions.use('b2', 100, 10_000), /refused/);
  });
});
