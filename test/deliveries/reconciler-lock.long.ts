import assert from 'node:assert/strict';
import { pino } from 'pino';
import { openLink } from '../../faults/proxy.ts';
import { createRunInspector } from '../../src/reconciler/run-inspector.ts';
import { startReconciler, type Reconciler } from '../../src/reconciler/reconciler-loop.ts';
import { createTaskControl } from '../../src/temporal/task-control.ts';
import { useOwnDeliveries } from '../support/deliveries.ts';
import { eventually } from '../support/eventually.ts';

describe('the lock of the reconciler', function () {
  this.timeout(120_000);
  const world = useOwnDeliveries({ workers: 0 });

  /** Starts a reconciler that takes its lock over this URL. All other statements use the direct connection. */
  function start(databaseUrl: string, onTurn: () => void): Reconciler {
    const { client, configuration, control, database } = world;
    const { taskQueue } = configuration;
    const log = pino({ level: 'silent' });
    return startReconciler({
      database,
      engine: createRunInspector({ client, taskQueue, log }),
      control: createTaskControl({ client, taskQueue, eagerStart: false, searchable: true }),
      deliveryControl: control,
      runsKeptDays: 180,
      clock: () => new Date(),
      log,
      databaseUrl,
      onTurn,
    });
  }

  it('moves to another process if the connection of its holder becomes silent', async () => {
    const url = new URL(world.configuration.databaseUrl);
    const link = await openLink(Number(url.port));
    const through = new URL(url);
    through.port = String(link.port);
    let turns = 0;
    let otherTurns = 0;
    const first = start(through.href, () => (turns += 1));
    await eventually('the first reconciler has the lock', () => turns > 0);
    const second = start(url.href, () => (otherTurns += 1));
    try {
      await eventually('the first reconciler continues', () => turns > 3);
      assert.equal(otherTurns, 0);
      link.disconnect('drop', 0);
      await eventually('the second reconciler has the lock', () => otherTurns > 0, 60_000);
    } finally {
      link.restore();
      await Promise.all([first.stop(), second.stop()]);
      await link.close();
    }
  });
});
