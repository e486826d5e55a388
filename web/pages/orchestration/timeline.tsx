import { Button } from '@mantine/core';
import { useState } from 'react';
import type { FeedEvent } from '../../../src/domain/tasks/feed-events.ts';
import { isTerminal } from '../../../src/domain/tasks/task-states.ts';
import { useNow } from '../../components/now.ts';
import { Status } from '../../components/status.tsx';
import { Duration, Elapsed } from '../../components/time.tsx';
import { formatDuration } from '../../format/time.ts';
import type { Run, Step } from './queries.ts';
import { StepDetail } from './step-detail.tsx';
import classes from './timeline.module.css';
import { shownStatus } from './words.ts';
import {
  isIn,
  shareOf,
  spanOfStep,
  timelineOf,
  type Attempt,
  type Interval,
  type Span,
  type Timeline,
} from './timeline-model.ts';

/** Shows the steps of a run on a time axis, with their durations and failed attempts. */
export function RunTimeline({ run, events }: { run: Run; events: readonly FeedEvent[] }) {
  const now = useNow('quick');
  const timeline = timelineOf(run, events, now);
  // The events arrive after the run. The row is there before, so that the steps do not move.
  const isPlanningExpected = events.length === 0 && run.steps.length > 0 && run.rerun_of === null;
  const [toggled, setToggled] = useState<ReadonlyMap<string, boolean>>(new Map());
  const isOpen = (step: Step) => toggled.get(step.id) ?? isInitiallyOpen(run, step);
  const toggle = (step: Step) => setToggled((before) => new Map(before).set(step.id, !isOpen(step)));
  const [zoomedId, setZoomedId] = useState<string | null>(null);
  const zoom = zoomedId === null ? null : spanOfStep(timeline, zoomedId);
  const shown: Shown = { pauses: timeline.pauses, span: zoom ?? timeline };
  return (
    <>
      <Axis start={timeline.from} span={shown.span} onWhole={zoom ? () => setZoomedId(null) : null} />
      <ol className={classes['rows']} aria-label="Steps">
        {isPlanningExpected ? (
          <li className={classes['row']}>
            <div className={classes['name']}>planning</div>
          </li>
        ) : null}
        {timeline.planning ? (
          <li className={classes['row']}>
            <div className={classes['name']}>
              <Status status={timeline.planning.to === null ? 'planning' : 'completed'}>planning</Status>
            </div>
            <Track shown={shown}>
              <Bar
                interval={timeline.planning}
                outcome={timeline.planning.to === null ? 'running' : 'completed'}
                name="planning"
                span={shown.span}
              />
            </Track>
            <div className={classes['agent']} />
            <div className={classes['took']}>
              <IntervalDuration interval={timeline.planning} />
            </div>
          </li>
        ) : null}
        {run.steps.map((step) => (
          <li key={step.id} className={classes['step']}>
            <StepRow
              run={run}
              step={step}
              attempts={attemptsOf(step, timeline)}
              shown={shown}
              isOpen={isOpen(step)}
              onToggle={() => toggle(step)}
            />
            {isOpen(step) ? (
              <StepDetail
                step={step}
                status={shownStatus(step, run)}
                attempts={attemptsOf(step, timeline)}
                onZoom={canZoom(step, timeline, zoomedId) ? () => setZoomedId(step.id) : null}
              />
            ) : null}
          </li>
        ))}
        {run.steps.length === 0 && !timeline.planning ? (
          <li className={classes['none']}>{isTerminal(run.state) ? 'No steps' : 'No steps yet'}</li>
        ) : null}
      </ol>
    </>
  );
}

/** The part of the run that is shown, and the pauses. */
type Shown = { pauses: Timeline['pauses']; span: Span };

function attemptsOf(step: Step, timeline: Timeline): readonly Attempt[] {
  return step.kept ? [] : (timeline.attempts.get(step.id) ?? []);
}

function canZoom(step: Step, timeline: Timeline, zoomedId: string | null): boolean {
  return step.id !== zoomedId && !step.kept && spanOfStep(timeline, step.id) !== null;
}

type AxisProps = { start: number; span: Span; onWhole: (() => void) | null };

/** Shows the ends of the axis as times since the start of the run. `onWhole`: shows the whole run again. */
function Axis({ start, span, onWhole }: AxisProps) {
  return (
    <div className={classes['row']}>
      <span className={classes['name']}>
        {onWhole ? (
          <Button variant="default" size="compact-xs" onClick={onWhole}>
            Whole run
          </Button>
        ) : null}
      </span>
      <span className={classes['axis']} aria-hidden>
        <span>+{formatDuration(span.from - start)}</span>
        <span>+{formatDuration(span.to - start)}</span>
      </span>
    </div>
  );
}

/** The failed step of an ended run is open initially. */
function isInitiallyOpen(run: Run, step: Step): boolean {
  return isTerminal(run.state) && shownStatus(step, run) === 'failed';
}

type StepRowProps = {
  run: Run;
  step: Step;
  attempts: readonly Attempt[];
  shown: Shown;
  isOpen: boolean;
  onToggle: () => void;
};

function StepRow({ run, step, attempts, shown, isOpen, onToggle }: StepRowProps) {
  const status = shownStatus(step, run);
  const tokens = step.usage && step.usage.input_tokens + step.usage.output_tokens;
  return (
    <button type="button" className={classes['row']} aria-expanded={isOpen} onClick={onToggle}>
      <span className={classes['name']}>
        <Status status={status}>{step.name}</Status>
        <span className="visually-hidden">{status}</span>
      </span>
      <Track shown={shown}>
        {attempts.map((attempt) => (
          <Bar
            key={attempt.number}
            interval={attempt}
            outcome={attempt.outcome}
            name={`attempt ${attempt.number}`}
            span={shown.span}
          />
        ))}
      </Track>
      <span className={classes['agent']}>{step.agent}</span>
      <span className={classes['took']}>
        <StepDuration step={step} />
        {step.attempt > 1 ? ` · attempt ${step.attempt}` : ''}
        {tokens ? ` · ${tokens.toLocaleString('en')} tokens` : ''}
      </span>
    </button>
  );
}

function Track({ shown: { pauses, span }, children }: { shown: Shown; children: React.ReactNode }) {
  return (
    <span className={classes['track']} aria-hidden>
      {pauses
        .filter((pause) => isIn(pause, span))
        .map((pause) => {
          const { left, width } = shareOf(pause, span);
          return (
            <span
              key={pause.from}
              className={classes['pause']}
              style={{ left: `${left}%`, width: `${width}%` }}
              title="paused"
            />
          );
        })}
      {children}
    </span>
  );
}

type BarProps = { interval: Interval; outcome: Attempt['outcome']; name: string; span: Span };

function Bar({ interval, outcome, name, span }: BarProps) {
  if (!isIn(interval, span)) return null;
  const { left, width } = shareOf(interval, span);
  return (
    <span
      className={classes['bar']}
      data-outcome={outcome}
      title={`${name}: ${outcome}`}
      style={{ left: `${left}%`, width: `${width}%` }}
    />
  );
}

function StepDuration({ step }: { step: Step }) {
  if (step.kept) return 'kept from the earlier run';
  if (step.duration_ms !== null) return <Duration ms={step.duration_ms} />;
  if (step.status === 'running' && step.started_at) return <Elapsed since={step.started_at} />;
  return step.status;
}

function IntervalDuration({ interval: { from, to } }: { interval: Interval }) {
  return to === null ? <Elapsed since={new Date(from).toISOString()} /> : <Duration ms={to - from} />;
}
