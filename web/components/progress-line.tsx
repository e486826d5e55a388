import classes from './progress-line.module.css';
import type { Tone } from './tones.ts';

type ProgressProps = { percent: number; tone: Tone; label: string };

/** A progress bar. Its text is beside it. */
export function ProgressLine({ percent, tone, label }: ProgressProps) {
  return (
    <div
      className={classes['line']}
      role="progressbar"
      aria-label={label}
      aria-valuenow={percent}
      aria-valuemin={0}
      aria-valuemax={100}
    >
      <div className={classes['done']} data-tone={tone} style={{ width: `${percent}%` }} />
    </div>
  );
}
