import assert from 'node:assert/strict';
import { REASONS, stepsOf } from '../../dev/docs/steps.ts';
import { pages } from './steps.ts';

describe('what readers are told to type and no test runs', () => {
  it('has a reason that is one of the known ones', () => {
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
