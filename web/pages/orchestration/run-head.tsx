import { Button, Group, Stack, Text } from '@mantine/core';
import { shownStateOf } from '../../../src/domain/tasks/task-states.ts';
import { canUpdate } from '../../api/connection-state.ts';
import { useConnection } from '../../api/connection.ts';
import { useProjects } from '../../api/projects.ts';
import { useSession } from '../../api/session.ts';
import { IconExternalLink } from '../../components/icons.tsx';
import { Id } from '../../components/id.tsx';
import { Panel } from '../../components/panel.tsx';
import { ProgressLine } from '../../components/progress-line.tsx';
import { Status } from '../../components/status.tsx';
import { TextLink } from '../../components/text-link.tsx';
import { Duration, Elapsed, RelativeTime } from '../../components/time.tsx';
import { toneOf } from '../../components/tones.ts';
import type { FollowStatus } from '../../live/follow.ts';
import type { Run } from './queries.ts';
import { RunActions } from './run-actions.tsx';
import classes from './run-view.module.css';
import { progressText, usageText, actorName } from './words.ts';

const LIVE_LABELS: Readonly<Record<FollowStatus, string>> = {
  connecting: 'connecting…',
  live: 'live',
  polling: 'updates every second',
};

/** Shows the state, progress, details and actions of a run. `live` is null for an ended run. */
export function RunHead({ run, live }: { run: Run; live: FollowStatus | null }) {
  const connection = useConnection();
  const { nameOf } = useProjects();
  return (
    <Panel>
      <Stack gap="sm">
        <Group justify="space-between" gap="sm">
          <Group gap="sm">
            <Status status={shownStateOf(run)} />
            <Text size="sm" c="dimmed">
              {run.task_type} · {nameOf(run.project_id)}
            </Text>
            {live ? (
              <Text size="xs" c="dimmed" role="status">
                {canUpdate(connection, live === 'live') ? LIVE_LABELS[live] : 'not updated'}
              </Text>
            ) : null}
          </Group>
          <Group gap="xs">
            <RunActions run={run} />
            <TemporalLink executionId={run.execution_id} />
          </Group>
        </Group>
        <ProgressLine percent={run.progress.percent} tone={toneOf(shownStateOf(run))} label="Run progress" />
        <Text size="sm">
          {progressText(run)} · <RunDuration run={run} />
        </Text>
        <Facts run={run} />
      </Stack>
    </Panel>
  );
}

function RunDuration({ run }: { run: Run }) {
  if (run.duration_ms !== null) return <Duration ms={run.duration_ms} />;
  return <Elapsed since={run.started_at ?? run.created_at} />;
}

function Facts({ run }: { run: Run }) {
  return (
    <dl className={classes['facts']}>
      <div>
        <dt>ID</dt>
        <dd>
          <Id value={run.execution_id} label="execution ID" />
        </dd>
      </div>
      <div>
        <dt>Submitted</dt>
        <dd>
          <RelativeTime at={run.created_at} /> by {actorName(run.created_by)}
        </dd>
      </div>
      {run.rerun_of ? (
        <div>
          <dt>Rerun of</dt>
          <dd>
            <RunLink id={run.rerun_of}>an earlier run</RunLink>
            {run.rerun_from ? `, starting at ${run.rerun_from}` : ''}
          </dd>
        </div>
      ) : null}
      {run.reruns.length > 0 ? (
        <div>
          <dt>Reruns</dt>
          <dd>
            {run.reruns.map((again, index) => (
              <span key={again.execution_id}>
                {index > 0 ? ', ' : ''}
                <RunLink id={again.execution_id}>{`rerun ${index + 1} (${again.state})`}</RunLink>
              </span>
            ))}
          </dd>
        </div>
      ) : null}
      {run.paused_ms > 0 ? (
        <div>
          <dt>Paused for</dt>
          <dd>
            <Duration ms={run.paused_ms} />
          </dd>
        </div>
      ) : null}
      {run.usage ? (
        <div>
          <dt>Model usage</dt>
          <dd>{usageText(run.usage)}</dd>
        </div>
      ) : null}
      <div>
        <dt>Callback</dt>
        <dd>
          <Status status={run.callback.status}>
            {run.callback.status === 'none' ? 'no callback' : run.callback.status}
          </Status>
        </dd>
      </div>
    </dl>
  );
}

function RunLink({ id, children }: { id: string; children: string }) {
  return (
    <TextLink to="/orchestration/$executionId" params={{ executionId: id }} size="sm" underline="always">
      {children}
    </TextLink>
  );
}

function TemporalLink({ executionId }: { executionId: string }) {
  const { me } = useSession();
  if (!me.temporal) return null;
  const { ui_url, namespace } = me.temporal;
  return (
    <Button
      component="a"
      variant="default"
      size="xs"
      href={`${ui_url}/namespaces/${encodeURIComponent(namespace)}/workflows/${executionId}`}
      target="_blank"
      rel="noreferrer"
      rightSection={<IconExternalLink size={14} aria-hidden />}
    >
      Open in Temporal
    </Button>
  );
}
