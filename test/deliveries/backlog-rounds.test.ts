import assert from 'node:assert/strict';
import { registerHooks } from 'node:module';
import { Continued, host } from '../support/workflow-api.ts';

type Round = { isMore: boolean; isWell: boolean; isCrowded?: boolean };
type Workflow = (input: { webhookId: string }) => Promise<void>;

const WELL: Round = { isMore: true, isWell: true };
const FAILED: Round = { isMore: true, isWell: false };
const CROWDED: Round = { isMore: true, isWell: true, isCrowded: true };
const LAST: Round = { isMore: false, isWell: true };

describe('the backlog of a webhook', () => {
  let endpointBacklog: Workflow;
  before(async () => {
    const url = new URL('../../src/workflows/endpoint-backlog.ts?with=workflow-api', import.meta.url).href;
    const api = new URL('../support/workflow-api.ts', import.meta.url).href;
    const hooks = registerHooks({
      resolve: (specifier, context, next) =>
        specifier === '@temporalio/workflow' && context.parentURL === url
          ? { url: api, shortCircuit: true }
          : next(specifier, context),
    });
    ({ endpointBacklog } = (await import(url)) as { endpointBacklog: Workflow });
    hooks.deregister();
  });

  /** Runs the workflow with these rounds. Returns their widths, and the waits between them. */
  async function run(rounds: readonly Round[], { isLong = false, signalIn = -1 } = {}) {
    const widths: number[] = [];
    const slept: number[] = [];
    Object.assign(host, {
      isLong,
      slept,
      activities: {
        async drainBacklog({ width }: { width: number }) {
          if (widths.length === signalIn) host.signal();
          widths.push(width);
          return rounds[widths.length - 1];
        },
      },
    });
    const error = await endpointBacklog({ webhookId: 'w1' }).catch((reason: unknown) => reason);
    return { widths, waits: slept.length, isContinued: error instanceof Continued };
  }

  it('is sent with a width that grows with each successful round, up to ten, and with one attempt after a failure', async () => {
    const { widths } = await run([WELL, WELL, WELL, WELL, FAILED, WELL, LAST]);
    assert.deepEqual(widths, [1, 2, 4, 8, 10, 1, 2]);
  });

  it('waits after a crowded round, which changes no width, and after no other', async () => {
    const { widths, waits } = await run([WELL, CROWDED, CROWDED, WELL, WELL, LAST]);
    assert.deepEqual(widths, [1, 2, 2, 2, 4, 8]);
    assert.equal(waits, 2);
  });

  it('has another round if deliveries came during the last one', async () => {
    assert.deepEqual((await run([LAST, LAST], { signalIn: 0 })).widths.length, 2);
    assert.deepEqual((await run([LAST], {})).widths.length, 1);
  });

  it('continues as a new execution if the history is long and there is more', async () => {
    assert.deepEqual(await run([WELL], { isLong: true }), { widths: [1], waits: 0, isContinued: true });
    assert.deepEqual(await run([LAST], { isLong: true }), { widths: [1], waits: 0, isContinued: false });
  });
});
