import { Accordion, Button, Group, Stack, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { CALLBACK_ATTEMPTS } from '../../../src/domain/common/retry-schedules.ts';
import { api, unwrap, type Schemas } from '../../api/client.ts';
import { useSession } from '../../api/session.ts';
import { IconRefresh } from '../../components/icons.tsx';
import { Headers } from '../../components/headers.tsx';
import { BodyView } from '../../components/json-view.tsx';
import { ListSkeleton } from '../../components/page-states.tsx';
import { useNow } from '../../components/now.ts';
import { ErrorState, errorMessage } from '../../components/states.tsx';
import { Status } from '../../components/status.tsx';
import { RelativeTime } from '../../components/time.tsx';
import { formatDuration } from '../../format/time.ts';
import { callbacksQuery, isOver, runQuery, type Run } from './queries.ts';
import { callbackOutlook } from './words.ts';

/** Shows every attempt of the callback with its request and response. */
export function Callbacks({ run }: { run: Run }) {
  const { hasScope } = useSession();
  const hasCallback = run.callback.url !== null;
  const query = useQuery({
    ...callbacksQuery(run.execution_id),
    enabled: hasCallback,
    refetchInterval: isOver(run) ? false : 1_000,
  });
  if (!hasCallback) {
    return <Text c="dimmed">No callback URL was set for this task.</Text>;
  }
  if (query.isError) {
    return (
      <ErrorState
        title="The attempts could not be loaded"
        error={query.error}
        onRetry={() => void query.refetch()}
      />
    );
  }
  if (query.isPending) return <ListSkeleton rows={2} />;
  return (
    <Stack gap="sm">
      <Text size="sm">
        Callback URL: <code>{run.callback.url}</code> · <Status status={run.callback.status} />
        {query.data.data.length === 0 ? callbackOutlook(run) : ''}
      </Text>
      {hasScope('tasks:write') ? <RetryButton run={run} /> : null}
      <Accordion variant="separated" chevronPosition="left">
        {query.data.data.map((attempt) => (
          <Accordion.Item key={attempt.id} value={attempt.id}>
            <Accordion.Control>
              <AttemptLine attempt={attempt} />
            </Accordion.Control>
            <Accordion.Panel>
              <AttemptDetail attempt={attempt} />
            </Accordion.Panel>
          </Accordion.Item>
        ))}
      </Accordion>
    </Stack>
  );
}

/** Makes one more attempt of a failed callback. */
function RetryButton({ run }: { run: Run }) {
  const queryClient = useQueryClient();
  const { execution_id: id, callback } = run;
  const retry = useMutation({
    mutationFn: () =>
      unwrap(
        api.POST('/api/v1/tasks/{execution_id}/callback/retry', { params: { path: { execution_id: id } } }),
      ),
    onSuccess: (changed) => queryClient.setQueryData(runQuery(id).queryKey, changed),
    onError: () => queryClient.invalidateQueries({ queryKey: runQuery(id).queryKey }),
  });
  const isUnderWay = retry.isPending || (retry.isSuccess && callback.status === 'pending');
  if (callback.status !== 'failed' && retry.isIdle) return null;
  return (
    <Group gap="sm">
      {callback.status === 'failed' || isUnderWay ? (
        <Button
          size="xs"
          leftSection={<IconRefresh size={14} aria-hidden />}
          loading={isUnderWay}
          onClick={() => retry.mutate()}
        >
          Retry now
        </Button>
      ) : null}
      <Text size="sm" aria-live="polite" c={retry.isError ? 'var(--mantine-color-error)' : 'dimmed'}>
        {retry.isError ? errorMessage(retry.error) : retry.isSuccess ? resultMessage(callback.status) : ''}
      </Text>
    </Group>
  );
}

function resultMessage(status: Run['callback']['status']): string {
  if (status === 'pending') return 'Attempt started.';
  return status === 'delivered' ? 'Callback delivered.' : 'The attempt failed.';
}

type Attempt = Schemas['CallbackAttempt'];

function AttemptLine({ attempt }: { attempt: Attempt }) {
  const { response_status: status, failure, duration_ms, completed_at, next_attempt_at } = attempt;
  const now = useNow();
  const outcome = completed_at === null ? 'running' : failure === null ? 'succeeded' : 'failed';
  return (
    <Text size="sm">
      <Status status={outcome}>{attemptName(attempt)}</Status>{' '}
      {status ?? attempt.message ?? (outcome === 'running' ? 'in progress' : failure)}
      {duration_ms === null ? '' : ` · ${formatDuration(duration_ms)}`}
      {attempt.reconnected ? ' · sent again on a new connection' : ''} ·{' '}
      <RelativeTime at={attempt.attempted_at} />
      {next_attempt_at && Date.parse(next_attempt_at) > now ? (
        <>
          {' '}
          · next <RelativeTime at={next_attempt_at} isAhead />
        </>
      ) : null}
    </Text>
  );
}

function attemptName({ attempt, trigger }: Attempt): string {
  return trigger === 'manual' ? `Manual attempt ${attempt}` : `Attempt ${attempt} of ${CALLBACK_ATTEMPTS}`;
}

/** The response of a failed attempt comes first, because it shows the cause. */
function AttemptDetail({ attempt }: { attempt: Attempt }) {
  const request = <AttemptRequest key="request" attempt={attempt} />;
  const response = <AttemptResponse key="response" attempt={attempt} />;
  return (
    <Stack gap="xs">
      {attempt.message ? <Text size="sm">{attempt.message}</Text> : null}
      {attempt.failure === null ? [request, response] : [response, request]}
    </Stack>
  );
}

function AttemptRequest({ attempt }: { attempt: Attempt }) {
  return (
    <>
      <Text size="sm" fw={600}>
        Request: POST {attempt.url}
      </Text>
      <Headers headers={attempt.request_headers} />
      {attempt.request_body === null ? (
        <Text size="sm" c="dimmed">
          Only newer attempts show their request body, because it is large.
        </Text>
      ) : (
        <BodyView text={attempt.request_body} label="request body" />
      )}
    </>
  );
}

function AttemptResponse({ attempt: { response_status: status, ...attempt } }: { attempt: Attempt }) {
  if (status === null) return null;
  return (
    <>
      <Text size="sm" fw={600}>
        Response: {status}
      </Text>
      <Headers headers={attempt.response_headers ?? {}} />
      {attempt.response_body ? <BodyView text={attempt.response_body} label="response body" /> : null}
    </>
  );
}
