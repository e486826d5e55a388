import { ActionIcon, Button, Group, JsonInput, Skeleton, Stack, Text } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { EVENT_KINDS, type EventKind } from '../../../../src/domain/webhooks/event-kinds.ts';
import { EVENT_SCHEMAS } from '../../../../src/domain/webhooks/event-schemas.ts';
import { sampleData } from '../../../../src/domain/webhooks/event-samples.ts';
import { unwrap, api, type Schemas } from '../../../api/client.ts';
import { IconSend, IconX } from '../../../components/icons.tsx';
import { validate } from '../../../forms/validate.ts';
import { BodyView } from '../../../components/json-view.tsx';
import { Panel } from '../../../components/panel.tsx';
import { errorMessage } from '../../../components/states.tsx';
import { Waiting } from '../../../components/waiting.tsx';
import { RequestSide } from '../parts/exchange.tsx';
import type { Webhook } from '../parts/queries.ts';
import { lastTestQuery, sendTest, type TestState } from './send-test.ts';
import classes from './test.module.css';
import { TestResult } from './test-result.tsx';

const DEBOUNCE_MS = 300;
/** About the height of a request. */
const REQUEST_PX = 560;

/** The edited `data`: the text, the last valid value, and the error. */
type Edit = { text: string | null; data: Record<string, unknown> | undefined; wrong: string | null };
const UNTOUCHED: Edit = { text: null, data: undefined, wrong: null };

/** Sends a test event. Shows the request and the result. */
export function TestPanel({ webhook, onClose }: { webhook: Webhook; onClose: () => void }) {
  const client = useQueryClient();
  const subscribed = webhook.events.map(({ event }) => event);
  const last = useQuery<TestState>(lastTestQuery(webhook.id)).data;
  const [event, setEvent] = useState<EventKind>(last?.event ?? subscribed[0] ?? EVENT_KINDS[0]);
  const [edit, setEdit] = useState<Edit>(UNTOUCHED);
  const draft = useTestDraft(webhook, event, edit.data);
  const choose = (kind: EventKind) => {
    setEvent(kind);
    setEdit(UNTOUCHED);
  };
  const send = () =>
    void sendTest(client, webhook.id, {
      event,
      ...(edit.data && { data: edit.data }),
      ...(draft.data && draft.isSettled && { draft: draft.data.draft }),
    });
  return (
    <Panel
      title="Test event"
      actions={
        <ActionIcon variant="subtle" color="gray" aria-label="Close test" onClick={onClose}>
          <IconX size={18} aria-hidden />
        </ActionIcon>
      }
    >
      <Stack gap="sm">
        <Group gap="sm" align="center">
          <label>
            <Text span size="sm" mr={6}>
              Event
            </Text>
            <select
              className="plain-select"
              value={event}
              onChange={(change) => choose(change.currentTarget.value as EventKind)}
            >
              <KindOptions subscribed={subscribed} />
            </select>
          </label>
          <Button
            leftSection={<IconSend size={16} aria-hidden />}
            loading={last?.state === 'sending'}
            disabled={edit.wrong !== null}
            onClick={send}
          >
            Send
          </Button>
          <Text size="sm" c="dimmed">
            Filters do not apply. A test is not retried and does not affect the failure count.
          </Text>
        </Group>
        <div aria-live="polite">{last ? <TestResult webhookId={webhook.id} test={last} /> : null}</div>
        <details className={classes['exact']} open={!last}>
          <summary>Request to send</summary>
          {draft.data ? (
            <RequestSide request={draft.data.request} name="Request preview">
              <DataPart
                body={draft.data.request.body ?? ''}
                edit={edit}
                onBegin={() => setEdit(withText(event, JSON.stringify(sampleData(event), null, 2), edit))}
                onText={(text) => setEdit(withText(event, text, edit))}
                onEnd={() => setEdit(UNTOUCHED)}
              />
            </RequestSide>
          ) : draft.error ? (
            <Text size="sm" role="alert">
              {errorMessage(draft.error)}
            </Text>
          ) : (
            <Waiting>
              <Skeleton height={REQUEST_PX} mt="xs" />
            </Waiting>
          )}
        </details>
      </Stack>
    </Panel>
  );
}

function KindOptions({ subscribed }: { subscribed: readonly EventKind[] }) {
  const others = EVENT_KINDS.filter((kind) => !subscribed.includes(kind));
  const options = (kinds: readonly EventKind[]) => kinds.map((kind) => <option key={kind}>{kind}</option>);
  return (
    <>
      <optgroup label="Subscribed">{options(subscribed)}</optgroup>
      {others.length > 0 ? <optgroup label="Not subscribed">{options(others)}</optgroup> : null}
    </>
  );
}

type DataProps = {
  body: string;
  edit: Edit;
  onBegin: () => void;
  onText: (text: string) => void;
  onEnd: () => void;
};

function DataPart({ body, edit: { text, wrong }, onBegin, onText, onEnd }: DataProps) {
  return (
    <>
      <Group justify="space-between">
        <Text size="sm" fw={500}>
          Body
        </Text>
        <Button variant="subtle" size="compact-sm" onClick={text === null ? onBegin : onEnd}>
          {text === null ? 'Edit data' : 'Reset to sample'}
        </Button>
      </Group>
      {text === null ? null : (
        <JsonInput
          aria-label="data"
          description="Validated against the schema of this event kind"
          autosize
          minRows={6}
          maxRows={18}
          value={text}
          error={wrong}
          onChange={onText}
          classNames={{ input: classes['json'] ?? '' }}
        />
      )}
      <BodyView text={body} label="Body preview" />
    </>
  );
}

/** Fetches the request as the server would send it. Refetches it when event or data change, and after each test. */
function useTestDraft(webhook: Webhook, event: EventKind, data: Record<string, unknown> | undefined) {
  const request = JSON.stringify({ event, data });
  const [settled] = useDebouncedValue(request, DEBOUNCE_MS);
  const query = useQuery({
    queryKey: ['test-draft', webhook.id, webhook.updated_at, settled],
    queryFn: ({ signal }) =>
      unwrap(
        api.POST('/api/v1/webhooks/{id}/test-request', {
          params: { path: { id: webhook.id } },
          body: JSON.parse(settled) as Schemas['TestDraftRequest'],
          signal,
        }),
      ),
    placeholderData: (before) => before,
    staleTime: 600_000,
  });
  const isSettled = settled === request && !query.isPlaceholderData && !query.isFetching;
  return { data: query.data, error: query.error, isSettled };
}

/** Returns the edit with a new text. An invalid text keeps the last valid data. */
function withText(event: EventKind, text: string, before: Edit): Edit {
  let data: unknown;
  try {
    data = JSON.parse(text);
  } catch {
    return { text, data: before.data, wrong: 'Not valid JSON' };
  }
  const [first] = Object.entries(validate(EVENT_SCHEMAS[event], data));
  if (!first) return { text, data: data as Record<string, unknown>, wrong: null };
  const [path, sentence] = first;
  return { text, data: before.data, wrong: `${path || 'data'}: ${sentence}` };
}
