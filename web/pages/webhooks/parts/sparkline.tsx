import type { Stats } from './queries.ts';
import { plural, percent } from './health.ts';
import classes from './sparkline.module.css';

const HEIGHT = 24;
const WIDTH = 4;
const GAP = 1;
/** A bar with a single attempt must still be visible. */
const MIN_BAR_HEIGHT = 3;

/** The last 24 hours as one bar per hour, failures on top. Nothing without attempts. */
export function Sparkline({ stats: { hours, total, success_rate: rate } }: { stats: Stats }) {
  const most = Math.max(1, ...hours.map(({ succeeded, failed }) => succeeded + failed));
  if (rate === null) return null;
  const label = `${plural(total, 'attempt')} in 24 hours, ${percent(rate)} succeeded`;
  return (
    <svg
      className={classes['line']}
      viewBox={`0 0 ${hours.length * (WIDTH + GAP)} ${HEIGHT}`}
      role="img"
      aria-label={label}
    >
      <title>{label}</title>
      {hours.map((hour, index) => (
        <Bar key={hour.from} x={index * (WIDTH + GAP)} most={most} {...hour} />
      ))}
    </svg>
  );
}

type BarProps = { x: number; most: number; succeeded: number; failed: number };

function Bar({ x, most, succeeded, failed }: BarProps) {
  const total = succeeded + failed;
  if (total === 0) return <rect className={classes['none']} x={x} y={HEIGHT - 1} width={WIDTH} height={1} />;
  const height = Math.max(MIN_BAR_HEIGHT, (total / most) * HEIGHT);
  const part = failed === 0 ? 0 : Math.max(MIN_BAR_HEIGHT / 2, (failed / total) * height);
  return (
    <>
      <rect
        className={classes['done']}
        x={x}
        y={HEIGHT - height + part}
        width={WIDTH}
        height={height - part}
      />
      {part > 0 ? (
        <rect className={classes['failed']} x={x} y={HEIGHT - height} width={WIDTH} height={part} />
      ) : null}
    </>
  );
}
