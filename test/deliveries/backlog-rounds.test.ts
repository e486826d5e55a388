import assert from 'node:assert/strict';
import { Continued, host, importWorkflow } from '../support/workflow-api.ts';

type Round = { isMore: boolean; isWell: boolean; isCrowded?: boolean };
type Workflow = (input: { webhookId: string }) => Promise<void>;

const WELL: Round = { isMore: true, isWell: true };
const FAILED: Round = { isMore: true, isWell: false };
const CROWDED: Round = { isMore: true, isWell: true, isCrowded: true };
const LAST: Round = { isMore: false, isWell: true };

describe('the backlog of a webhook', () => {
  let endpointBacklog: Workflow;
  let manualRetries: Workflow;
  before(async () => {
    ({ endpointBacklog, manualRetries } = await importWorkflow<{
      endpointBacklog: Workflow;
      manualRetries: Workflow;
    }>('endpoint-backlog.ts'));
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

  it('is sent by activities whose worker may die', async () => {
    host.called = [];
    await run([LAST]);
    const options = {
      heartbeatTimeout: '8 s',
      startToCloseTimeout: '5 min',
      retry: { initialInterval: '1 s', maximumInterval: '30 s' },
    };
    assert.deepEqual(host.called, [
      { activity: 'drainBacklog', options, input: { webhookId: 'w1', width: 1 } },
    ]);
  });

  it('waits for manual retries in the same way, at most five seconds after crowded rounds', async () => {
    const rounds = [WELL, ...Array.from({ length: 20 }, () => CROWDED), WELL, CROWDED, LAST];
    const slept: number[] = [];
    let made = 0;
    Object.assign(host, {
      isLong: false,
      slept,
      activities: {
        async makeManualRetries(input: object) {
          assert.deepEqual(input, { webhookId: 'w1' });
          return rounds[made++];
        },
      },
    });
    await manualRetries({ webhookId: 'w1' });
    assert.deepEqual([made, slept.length], [rounds.length, 21]);
    const [first = 0] = slept;
    assert.ok(first >= 500 && first <= 1_000, `${first} ms`);
    const long = slept[19] ?? 0;
    assert.ok(long >= 2_500 && long <= 5_000, `${long} ms`);
    const again = slept[20] ?? 0;
    assert.ok(again >= 500 && again <= 1_000, `${again} ms after a round that was not crowded`);
  });
});
