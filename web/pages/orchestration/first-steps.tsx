import { Anchor, CloseButton, Group, List, Text, ThemeIcon, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useEffect, useState, type ReactNode } from 'react';
import { unwrap, api } from '../../api/client.ts';
import { useSession } from '../../api/session.ts';
import { IconCheck, IconCircleDashed } from '../../components/icons.tsx';
import { Panel } from '../../components/panel.tsx';

type FirstStepsState = {
  /** Whether the page must wait, since the checklist would move what is below it. */
  isLoading: boolean;
  /** What was done; undefined if the checklist is not shown. */
  done: { key: boolean; webhook: boolean; test: boolean } | undefined;
  dismiss: () => void;
};

/** Returns what a new workspace has done. Permanently nothing after the checklist was dismissed. */
export function useFirstSteps(): FirstStepsState {
  const { me, isAtLeast } = useSession();
  const storageKey = `baton-first-steps-${me.workspace.id}`;
  const [isDismissed, setIsDismissed] = useState(() => localStorage.getItem(storageKey) === 'gone');
  const isShown = !isDismissed && isAtLeast('admin');
  const { data, isLoading, failureCount } = useQuery({ ...doneQuery, enabled: isShown });
  return {
    isLoading: isLoading && failureCount === 0,
    done: isShown ? data : undefined,
    dismiss() {
      localStorage.setItem(storageKey, 'gone');
      setIsDismissed(true);
    },
  };
}

type StepsProps = { steps: FirstStepsState; hasRuns: boolean; onSubmit: () => void };

/** The checklist of a new workspace. It updates itself, and disappears permanently when it is done or dismissed. */
export function FirstSteps({ steps: { done, dismiss }, hasRuns, onSubmit }: StepsProps) {
  const isDone = done !== undefined && hasRuns && done.key && done.webhook && done.test;
  useEffect(() => {
    if (isDone) dismiss();
  });

  if (done === undefined || isDone) return null;
  return (
    <Panel mb="md">
      <Group justify="space-between" mb="xs">
        <Title order={2}>Setup</Title>
        <CloseButton onClick={dismiss} aria-label="Dismiss setup" />
      </Group>
      <List spacing="xs" center listStyleType="none">
        <Step done={hasRuns} action={<SubmitLink onSubmit={onSubmit} />}>
          Submit a task
        </Step>
        <Step done={done.key} action={<StepLink to="/settings/api-keys">Create API key</StepLink>}>
          Create an API key
        </Step>
        <Step
          done={done.webhook}
          action={<StepLink to="/settings/integrations/webhooks/new">Create webhook</StepLink>}
        >
          Create a webhook
        </Step>
        <Step
          done={done.test}
          action={<StepLink to="/settings/integrations/webhooks">Open webhooks</StepLink>}
        >
          Send a test event
        </Step>
      </List>
    </Panel>
  );
}

function Step({ done, action, children }: { done: boolean; action: ReactNode; children: ReactNode }) {
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
      {done ? null : action}
    </List.Item>
  );
}

function SubmitLink({ onSubmit }: { onSubmit: () => void }) {
  return (
    <Anchor component="button" type="button" size="sm" ml="xs" onClick={onSubmit}>
      Submit task
    </Anchor>
  );
}

type StepLinkProps = {
  to: '/settings/api-keys' | '/settings/integrations/webhooks' | '/settings/integrations/webhooks/new';
  children: string;
};

function StepLink({ to, children }: StepLinkProps) {
  return (
    <Anchor component={Link} to={to} size="sm" ml="xs">
      {children}
    </Anchor>
  );
}

/** A few webhooks are enough to find out whether a test was sent. */
const CHECKED_WEBHOOKS = 5;

const doneQuery = {
  queryKey: ['first-steps'],
  async queryFn({ signal }: { signal: AbortSignal }) {
    const [keys, webhooks] = await Promise.all([
      unwrap(api.GET('/api/v1/keys', { params: { query: { limit: 1 } }, signal })),
      unwrap(api.GET('/api/v1/webhooks', { params: { query: { limit: CHECKED_WEBHOOKS } }, signal })),
    ]);
    const logs = await Promise.all(
      webhooks.data.map(({ id }) =>
        unwrap(
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
