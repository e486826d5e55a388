import assert from 'node:assert/strict';
import { REASONS, stepsOf } from '../../dev/docs/steps.ts';
import { pages } from './steps.ts';

describe('commands that no test runs', () => {
  it('state one of the known reasons', () => {
    const reasons: readonly string[] = REASONS;
    const unfounded = pages.flatMap((page) =>
      stepsOf(page).flatMap((step) =>
        step.kind === 'skipped' && !reasons.includes(step.reason)
          ? [`${page.path}:${step.line}: ${step.reason}`]
          : [],
      ),
    );
    assert.deepEqual(unfounded, []);
  });
});
