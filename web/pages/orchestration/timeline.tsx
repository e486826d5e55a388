import { useState } from 'react';
import type { FeedEvent } from '../../../src/domain/tasks/feed-events.ts';
import { isTerminal } from '../../../src/domain/tasks/task-states.ts';
import { useNow } from '../../components/now.ts';
import { Status } from '../../components/status.tsx';
import { Duration, Elapsed } from '../../components/time.tsx';
import type { Run, Step } from './queries.ts';
import { StepDetail } from './step-detail.tsx';
import classes from './timeline.module.css';
import { shownStatus } from './words.ts';
import { shareOf, timelineOf, type Attempt, type Interval, type Timeline } from './timeline-model.ts';

/** Shows the steps of a run on a time axis, with their durations and failed attempts. */
export function RunTimeline({ run, events }: { run: Run; events: readonly FeedEvent[] }) {
  const now = useNow('quick');
  const timeline = timelineOf(run, events, now);
  // The events arrive after the run. The row is there before, so that the steps do not move.
  const isPlanningExpected = events.length === 0 && run.steps.length > 0 && run.rerun_of === null;
  const [toggled, setToggled] = useState<ReadonlyMap<string, boolean>>(new Map());
  const isOpen = (step: Step) => toggled.get(step.id) ?? isInitiallyOpen(run, step);
  const toggle = (step: Step) => setToggled((before) => new Map(before).set(step.id, !isOpen(step)));
  return (
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
          <Track timeline={timeline}>
            <Bar
              interval={timeline.planning}
              outcome={timeline.planning.to === null ? 'running' : 'completed'}
              timeline={timeline}
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
            timeline={timeline}
            isOpen={isOpen(step)}
            onToggle={() => toggle(step)}
          />
          {isOpen(step) ? <StepDetail step={step} status={shownStatus(step, run)} /> : null}
        </li>
      ))}
      {run.steps.length === 0 && !timeline.planning ? (
        <li className={classes['none']}>{isTerminal(run.state) ? 'No steps' : 'No steps yet'}</li>
      ) : null}
    </ol>
  );
}

/** The failed step of an ended run is open initially. */
function isInitiallyOpen(run: Run, step: Step): boolean {
  return isTerminal(run.state) && shownStatus(step, run) === 'failed';
}

type StepRowProps = { run: Run; step: Step; timeline: Timeline; isOpen: boolean; onToggle: () => void };

function StepRow({ run, step, timeline, isOpen, onToggle }: StepRowProps) {
  const status = shownStatus(step, run);
  const attempts = step.kept ? [] : (timeline.attempts.get(step.id) ?? []);
  const tokens = step.usage && step.usage.input_tokens + step.usage.output_tokens;
  return (
    <button type="button" className={classes['row']} aria-expanded={isOpen} onClick={onToggle}>
      <span className={classes['name']}>
        <Status status={status}>{step.name}</Status>
        <span className="visually-hidden">{status}</span>
      </span>
      <Track timeline={timeline}>
        {attempts.map((attempt) => (
          <Bar key={attempt.number} interval={attempt} outcome={attempt.outcome} timeline={timeline} />
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

function Track({ timeline, children }: { timeline: Timeline; children: React.ReactNode }) {
  return (
    <span className={classes['track']} aria-hidden>
      {timeline.pauses.map((pause) => {
        const { left, width } = shareOf(pause, timeline);
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

type BarProps = { interval: Interval; outcome: Attempt['outcome']; timeline: Timeline };

function Bar({ interval, outcome, timeline }: BarProps) {
  const { left, width } = shareOf(interval, timeline);
  return (
    <span
      className={classes['bar']}
      data-outcome={outcome}
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
