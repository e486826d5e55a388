import { Anchor, Button, CloseButton, Group, List, Text, ThemeIcon, Title } from '@mantine/core';
import { IconCheck, IconCircleDashed } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useEffect, useState, type ReactNode } from 'react';
import { answered, api } from '../../api/client.ts';
import { useSession } from '../../api/session.ts';
import { Panel } from '../../components/panel.tsx';

type StepsProps = { hasRuns: boolean; isLoading: boolean; onSubmit: () => void };

/** What to do first in a new workspace. It ticks itself, and leaves for good when all is done or it is sent away. */
export function FirstSteps({ hasRuns, isLoading, onSubmit }: StepsProps) {
  const { me, isAtLeast } = useSession();
  const note = `baton-first-steps-${me.workspace.id}`;
  const [isGone, setGone] = useState(() => localStorage.getItem(note) === 'gone');
  const wanted = !isGone && isAtLeast('admin');
  const { data } = useQuery({ ...doneQuery, enabled: wanted });
  const isDone = data !== undefined && !isLoading && hasRuns && data.key && data.webhook && data.test;

  const leave = () => {
    localStorage.setItem(note, 'gone');
    setGone(true);
  };
  useEffect(() => {
    if (isDone) localStorage.setItem(note, 'gone');
  }, [isDone, note]);

  if (!wanted || isLoading || data === undefined || isDone) return null;
  return (
    <Panel mb="md">
      <Group justify="space-between" mb="xs">
        <Title order={2}>First steps</Title>
        <CloseButton onClick={leave} aria-label="Dismiss first steps" />
      </Group>
      <List spacing="xs" center listStyleType="none">
        <Step done={hasRuns} act={<SubmitLink onSubmit={onSubmit} />}>
          Run a task
        </Step>
        <Step done={data.key} act={<WayTo to="/settings/api-keys">Create key</WayTo>}>
          Create an API key
        </Step>
        <Step
          done={data.webhook}
          act={<WayTo to="/settings/integrations/webhooks/new">Create webhook</WayTo>}
        >
          Create a webhook
        </Step>
        <Step done={data.test} act={<WayTo to="/settings/integrations/webhooks">Show webhooks</WayTo>}>
          Send the webhook a test
        </Step>
      </List>
    </Panel>
  );
}

function Step({ done, act, children }: { done: boolean; act: ReactNode; children: ReactNode }) {
  const icon = (
    <ThemeIcon
      size={20}
      radius="xl"
      color={done ? 'green.9' : 'gray'}
      variant={done ? 'filled' : 'transparent'}
    >
      {done ? <IconCheck size={14} aria-hidden /> : <IconCircleDashed size={18} aria-hidden />}
    </ThemeIcon>
  );
  return (
    <List.Item icon={icon}>
      <Text span {...(done && { c: 'dimmed', td: 'line-through' })}>
        {children}
        <span className="visually-hidden">{done ? ' (done)' : ' (to do)'}</span>
      </Text>{' '}
      {done ? null : act}
    </List.Item>
  );
}

function SubmitLink({ onSubmit }: { onSubmit: () => void }) {
  return (
    <Button variant="subtle" size="compact-sm" onClick={onSubmit}>
      Submit task
    </Button>
  );
}

type WayProps = {
  to: '/settings/api-keys' | '/settings/integrations/webhooks' | '/settings/integrations/webhooks/new';
  children: string;
};

function WayTo({ to, children }: WayProps) {
  return (
    <Anchor component={Link} to={to} size="sm" ml="xs">
      {children}
    </Anchor>
  );
}

/** A few webhooks and what they were sent are enough to see whether somebody has tried. */
const LOOKED_AT = 5;

const doneQuery = {
  queryKey: ['first-steps'],
  async queryFn({ signal }: { signal: AbortSignal }) {
    const [keys, webhooks] = await Promise.all([
      answered(api.GET('/api/v1/keys', { params: { query: { limit: 1 } }, signal })),
      answered(api.GET('/api/v1/webhooks', { params: { query: { limit: LOOKED_AT } }, signal })),
    ]);
    const logs = await Promise.all(
      webhooks.data.map(({ id }) =>
        answered(
          api.GET('/api/v1/webhooks/{id}/deliveries', {
            params: { path: { id }, query: { limit: 50 } },
            signal,
          }),
        ),
      ),
    );
    return {
      key: keys.data.length > 0,
      webhook: webhooks.data.length > 0,
      test: logs.some((log) => log.data.some((delivery) => delivery.test)),
    };
  },
};
