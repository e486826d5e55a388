import { Text } from '@mantine/core';
import { useState } from 'react';
import type { FeedEvent } from '../../../src/domain/tasks/feed-events.ts';
import { MAX_ANSWER_LENGTH, MAX_REASON_LENGTH } from '../../../src/domain/common/limits.ts';
import { AnswerForm } from '../../components/answer-form.tsx';
import { Banner } from '../../components/banner.tsx';
import { RelativeTime } from '../../components/time.tsx';
import { useSession } from '../../api/session.ts';
import type { Run } from './queries.ts';
import { RunStarted } from './rerun.tsx';
import { useRerun } from './use-rerun.ts';
import { useRunControl } from './use-run-control.ts';
import { actorName, escalationOutlook } from './words.ts';

/** Shows first why a run needs a person: escalation, failure, question or pause. */
export function RunBanner({ run, events }: { run: Run; events: readonly FeedEvent[] }) {
  if (run.state === 'escalated' && run.escalation)
    return <Escalated key={run.execution_id} run={run} escalation={run.escalation} />;
  if (run.state === 'failed') return <Failed run={run} />;
  if (run.question) return <Asked key={run.question.at} run={run} question={run.question} />;
  if (run.state === 'paused') return <Paused run={run} events={events} />;
  return null;
}

function Escalated({ run, escalation }: { run: Run; escalation: NonNullable<Run['escalation']> }) {
  const { hasScope } = useSession();
  const rerun = useRerun(run);
  const [isSeen, setIsSeen] = useState(false);
  const done = run.steps.filter((step) => step.status === 'completed').map((step) => step.name);
  const mayAnswer = hasScope('tasks:write') && escalation.step !== null && run.reruns.length === 0;
  return (
    <Banner tone="escalated" label="Escalation" title={`Needs your decision: ${escalation.reason}`}>
      <Text size="sm" mb={mayAnswer ? 'xs' : 0}>
        Requested by {escalation.agent ?? 'an agent'}
        {escalation.step ? ` in step “${escalation.step}”` : ''}, <RelativeTime at={escalation.at} />.{' '}
        {done.length > 0 ? `Completed: ${done.join(', ')}.` : 'No steps completed.'} {escalationOutlook(run)}
      </Text>
      {mayAnswer ? (
        <AnswerForm
          submitLabel="Answer and rerun"
          maxLength={MAX_ANSWER_LENGTH}
          onSubmit={(answer) => rerun.mutate({ answer })}
          isPending={rerun.isPending}
          error={rerun.error}
        />
      ) : null}
      {/* Also after the run shows the rerun, until the secret is copied. */}
      {rerun.data && run.callback.url !== null && !isSeen ? (
        <RunStarted started={rerun.data} onClose={() => setIsSeen(true)} onOpen={rerun.open} />
      ) : null}
    </Banner>
  );
}

function Failed({ run }: { run: Run }) {
  const [first, ...more] = run.errors;
  return (
    <Banner
      tone="failed"
      label="Failure"
      title={first?.step ? `Step “${first.step}” failed` : 'The run failed'}
    >
      {first?.message ?? 'No details available.'}
      {more.length > 0 ? ` The Errors tab lists ${more.length} more.` : ''}
    </Banner>
  );
}

function Asked({ run, question }: { run: Run; question: NonNullable<Run['question']> }) {
  const { hasScope } = useSession();
  const control = useRunControl(run.execution_id);
  return (
    <Banner tone="asking" label="Question" title={`${question.agent} asks: ${question.text}`}>
      <Text size="sm" mb="xs">
        Asked in step “{question.step}”, <RelativeTime at={question.at} />. The run is paused until someone
        answers.
      </Text>
      {hasScope('tasks:write') ? (
        <AnswerForm
          submitLabel="Answer and continue"
          maxLength={MAX_REASON_LENGTH}
          onSubmit={(reason) => control.mutate({ action: 'continue', reason, question: question.id })}
          isPending={control.isPending}
          error={control.error}
        />
      ) : null}
    </Banner>
  );
}

function Paused({ run, events }: { run: Run; events: readonly FeedEvent[] }) {
  const pause = events.findLast(({ type, data }) => type === 'state.changed' && data['to'] === 'paused');
  const reason = typeof pause?.data['reason'] === 'string' ? pause.data['reason'] : null;
  const ending = run.steps.filter((step) => step.status === 'running').map((step) => step.name);
  const title = (
    <>
      Paused{run.paused_by ? ` by ${actorName(run.paused_by)}` : ''}
      {run.paused_at ? (
        <>
          , <RelativeTime at={run.paused_at} />
        </>
      ) : null}
    </>
  );
  return (
    <Banner tone="held" label="Pause" title={title}>
      {/* The events arrive after the run. The line is there before. */}
      <Text>{events.length === 0 ? '\u00a0' : reason ? `Reason: ${reason}` : 'No reason given'}</Text>
      {ending.length > 0
        ? `Still running: ${ending.join(', ')}. Running steps finish, and their results are kept. No new steps start.`
        : 'No new steps start until someone continues the run.'}
      <Text size="xs" c="dimmed">
        Paused time does not count against the run’s time limit.
      </Text>
    </Banner>
  );
}
