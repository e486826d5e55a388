import assert from 'node:assert/strict';
import { planScenario, SHORT_MINUTES } from '../../faults/plan.ts';
import { findViolations, formatReport } from '../../faults/report.ts';
import { runScenario } from '../../faults/scenario.ts';

const SEED = 7;

describe('a service under load whose parts are killed, frozen, restarted and disconnected', function () {
  this.timeout(30 * 60_000);

  it('loses nothing, repeats nothing, and keeps every limit', async () => {
    const report = await runScenario(planScenario(SEED, SHORT_MINUTES), () => {});
    console.log(formatReport(report).replaceAll(/^/gm, '    '));
    assert.deepEqual(
      findViolations(report.invariants).map(({ name, count, examples }) => ({ name, count, examples })),
      [],
    );
  });
});
