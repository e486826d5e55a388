import { Text } from '@mantine/core';
import { formatClockTime, formatDuration } from '../../../format/time.ts';
import { Panel } from '../../../components/panel.tsx';
import classes from './day-chart.module.css';
import type { Stats } from './queries.ts';
import { plural, percent } from './health.ts';

type Hour = Stats['hours'][number];

const BAR = 22;
const STEP = 26;
const HEIGHT = 96;
const MIN_BAR_HEIGHT = 3;
const GRID_LINES = 2;

/** The last 24 hours: attempts by outcome as bars, the p95 response time as a line. */
export function DayChart({ stats }: { stats: Stats }) {
  const { hours, total, success_rate: rate } = stats;
  const most = Math.max(1, ...hours.map(({ succeeded, failed }) => succeeded + failed));
  const slowest = Math.max(0, ...hours.map(({ p95_ms: ms }) => ms ?? 0));
  // A chart of nothing has no scale.
  if (rate === null) {
    return (
      <Panel title="Last 24 hours">
        <Text c="dimmed" className={classes['empty'] ?? ''}>
          No attempts
        </Text>
      </Panel>
    );
  }
  const summary = `${percent(rate)} of ${plural(total, 'attempt')} in the last 24 hours succeeded.`;
  return (
    <Panel
      title="Last 24 hours"
      actions={
        <Text size="sm" c="dimmed">
          {summary}
        </Text>
      }
    >
      <svg
        className={classes['chart']}
        viewBox={`0 0 ${hours.length * STEP} ${HEIGHT + 4}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${summary}${slowest > 0 ? ` p95 response time: up to ${formatDuration(slowest)}.` : ''}`}
      >
        {Array.from({ length: GRID_LINES }, (_, line) => (
          <line
            key={line}
            className={classes['grid']}
            x1={0}
            x2={hours.length * STEP}
            y1={(HEIGHT / GRID_LINES) * line + 1}
            y2={(HEIGHT / GRID_LINES) * line + 1}
          />
        ))}
        {hours.map((hour, index) => (
          <Bar key={hour.from} hour={hour} x={index * STEP + (STEP - BAR) / 2} most={most} />
        ))}
        {hours.map(({ from, p95_ms: ms }, index) =>
          ms === null ? null : <Level key={from} x={index * STEP} y={heightOf(ms, slowest)} />,
        )}
      </svg>
      <Legend hours={hours} most={most} slowest={slowest} />
    </Panel>
  );
}

function Bar({ hour, x, most }: { hour: Hour; x: number; most: number }) {
  const { from, succeeded, failed, p95_ms: p95 } = hour;
  const total = succeeded + failed;
  const title = `From ${formatClockTime(from).slice(0, 5)}: ${succeeded} succeeded, ${failed} failed${p95 === null ? '' : `, p95 response time ${formatDuration(p95)}`}`;
  const height = total === 0 ? 0 : Math.max(MIN_BAR_HEIGHT, (total / most) * HEIGHT);
  const part = failed === 0 ? 0 : Math.max(MIN_BAR_HEIGHT / 2, (failed / total) * height);
  return (
    <g>
      <title>{title}</title>
      <rect className={classes['area']} x={x - 2} y={0} width={STEP} height={HEIGHT} />
      <rect className={classes['none']} x={x} y={HEIGHT} width={BAR} height={1} />
      {total > 0 ? (
        <rect
          className={classes['done']}
          x={x}
          y={HEIGHT - height + part}
          width={BAR}
          height={height - part}
        />
      ) : null}
      {part > 0 ? (
        <rect className={classes['failed']} x={x} y={HEIGHT - height} width={BAR} height={part} />
      ) : null}
    </g>
  );
}

/** The p95 response time of an hour, as a line over its bar. */
function Level({ x, y }: { x: number; y: number }) {
  return (
    <>
      <line className={classes['level-ground']} x1={x} x2={x + STEP} y1={y} y2={y} />
      <line className={classes['level']} x1={x} x2={x + STEP} y1={y} y2={y} />
    </>
  );
}

function heightOf(ms: number, slowest: number): number {
  return HEIGHT - (slowest === 0 ? 0 : ms / slowest) * (HEIGHT - 8) - 4;
}

function Legend({ hours, most, slowest }: { hours: readonly Hour[]; most: number; slowest: number }) {
  const [first] = hours;
  return (
    <div className={classes['legend']}>
      <span>{first ? formatClockTime(first.from).slice(0, 5) : ''}</span>
      <span className={classes['end']}>now</span>
      <span className={classes['keys']}>
        <span>
          <i className={classes['key-done']} aria-hidden /> succeeded
        </span>
        <span>
          <i className={classes['key-failed']} aria-hidden /> failed
        </span>
        <span>highest bar: {plural(most, 'attempt')} per hour</span>
        {slowest > 0 ? (
          <span>
            <i className={classes['key-level']} aria-hidden /> p95 response time: up to{' '}
            {formatDuration(slowest)}
          </span>
        ) : null}
      </span>
    </div>
  );
}
