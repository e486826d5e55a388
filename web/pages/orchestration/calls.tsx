import { Accordion, Stack, Text } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import type { Schemas } from '../../api/client.ts';
import { JsonView } from '../../components/json-view.tsx';
import { PagedSection } from '../../components/paged-section.tsx';
import { Status } from '../../components/status.tsx';
import { RelativeTime } from '../../components/time.tsx';
import { formatDuration } from '../../format/time.ts';
import { callsQuery, isOver, REFRESH_MS, type Run } from './queries.ts';
import { usageText } from './words.ts';

/** Shows every call of a model or a tool with its input and output. */
export function Calls({ run }: { run: Run }) {
  const query = useInfiniteQuery({
    ...callsQuery(run.execution_id),
    refetchInterval: isOver(run) ? false : REFRESH_MS,
  });
  return (
    <Stack gap="sm">
      {run.usage ? <Text size="sm">Total: {usageText(run.usage)}</Text> : null}
      <PagedSection
        query={query}
        failure="The calls could not be loaded"
        empty={<Text c="dimmed">No model or tool calls</Text>}
      >
        {(calls) => (
          <Accordion variant="separated" chevronPosition="left">
            {calls.map((call) => (
              <CallItem key={callKey(call)} call={call} />
            ))}
          </Accordion>
        )}
      </PagedSection>
    </Stack>
  );
}

type Call = Schemas['AgentCall'];

/** Contains no space, since element ids are derived from it. */
function callKey({ step, attempt, number }: Call): string {
  return `${step ?? ''}-${attempt}-${number}`;
}

function CallItem({ call }: { call: Call }) {
  const { step, agent, attempt, name, failure, usage, duration_ms, started_at, truncated } = call;
  return (
    <Accordion.Item value={callKey(call)}>
      <Accordion.Control>
        <Text size="sm">
          <Status status={failure === null ? 'succeeded' : 'failed'}>{name}</Status>{' '}
          {step === null
            ? 'planning'
            : `${step} · ${agent ?? ''}${attempt > 1 ? `, attempt ${attempt}` : ''}`}{' '}
          · {formatDuration(duration_ms)}
          {usage ? ` · ${usageText(usage)}` : ''} · <RelativeTime at={started_at} />
        </Text>
      </Accordion.Control>
      <Accordion.Panel>
        <Stack gap="xs">
          {failure === null ? null : <Text size="sm">{failure}</Text>}
          {truncated ? (
            <Text size="xs" c="dimmed">
              Some values are truncated.
            </Text>
          ) : null}
          <Text size="sm" fw={600}>
            Input
          </Text>
          <JsonView value={call.input} label={`input of call ${call.number}`} />
          <Text size="sm" fw={600}>
            Output
          </Text>
          <JsonView value={call.output} label={`output of call ${call.number}`} />
        </Stack>
      </Accordion.Panel>
    </Accordion.Item>
  );
}
