import { GUARANTEES } from './invariants/guarantees.ts';
import type { WorldKind } from './kinds.ts';
import type { Failure } from './shrink.ts';
import { describeStep } from './story.ts';

/** The last lines of a trace that are printed. */
const SHOWN_LINES = 25;

/** Returns a failing story and the end of its trace, in words. */
export function describeFailure(kind: WorldKind, seed: number, { story, violation, trace }: Failure): string {
  return [
    `seed ${seed}, ${kind.name}: "${GUARANTEES[violation.guarantee]}" did not hold`,
    `  ${violation.what}`,
    ...kind.describe(story).map((line, index) => (index === 0 ? `  shortest story: ${line}` : `  ${line}`)),
    ...story.steps.map((step) => `  ${describeStep(step)}`),
    '  end of its trace:',
    ...trace
      .split('\n')
      .slice(-SHOWN_LINES)
      .map((line) => `    ${line}`),
  ].join('\n');
}
