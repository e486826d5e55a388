import { styled } from './output.ts';

const HEIGHTS = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'] as const;
const NOTHING = '·';

/**
 * Returns one character for each hour, with a height relative to the busiest hour; a dot for no attempts. Red if all
 * failed, yellow if some did.
 */
export function sparkline(hours: ReadonlyArray<{ succeeded: number; failed: number }>): string {
  const most = Math.max(0, ...hours.map(({ succeeded, failed }) => succeeded + failed));
  return hours
    .map(({ succeeded, failed }) => {
      const total = succeeded + failed;
      if (total === 0) return styled('dim', NOTHING);
      const height = HEIGHTS[Math.ceil((total / most) * HEIGHTS.length) - 1] ?? HEIGHTS[0];
      return styled(failed === 0 ? 'green' : succeeded === 0 ? 'red' : 'yellow', height);
    })
    .join('');
}
