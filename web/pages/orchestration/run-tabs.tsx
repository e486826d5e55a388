import { Tabs, Text } from '@mantine/core';
import { useState } from 'react';
import type { FeedEvent } from '../../../src/domain/tasks/feed-events.ts';
import { isTerminal } from '../../../src/domain/tasks/task-states.ts';
import { JsonView } from '../../components/json-view.tsx';
import { Panel } from '../../components/panel.tsx';
import { Calls } from './calls.tsx';
import { Callbacks } from './callbacks.tsx';
import { Documents } from './documents.tsx';
import { EventLines } from './event-lines.tsx';
import { Errors, Messages } from './messages.tsx';
import type { Run } from './queries.ts';
import { RequestTab } from './request-tab.tsx';

type Tab = 'messages' | 'output' | 'documents' | 'calls' | 'errors' | 'callback' | 'events' | 'request';

/** The tabs of a run. The initial tab depends on its state. */
export function RunTabs({ run, events }: { run: Run; events: readonly FeedEvent[] }) {
  const [chosen, setChosen] = useState<Tab | null>(null);
  const shown = chosen ?? firstTab(run);
  const messages = events.filter((event) => event.type === 'agent.message');
  return (
    <Panel>
      <Tabs value={shown} onChange={(tab) => setChosen(tab as Tab)} keepMounted={false}>
        <Tabs.List mb="sm">
          <Tabs.Tab value="messages">Messages{countOf(messages.length)}</Tabs.Tab>
          <Tabs.Tab value="output">Output</Tabs.Tab>
          <Tabs.Tab value="documents">Documents{countOf(documentsOf(run))}</Tabs.Tab>
          <Tabs.Tab value="calls">Calls</Tabs.Tab>
          <Tabs.Tab value="errors">Errors{countOf(run.errors.length)}</Tabs.Tab>
          <Tabs.Tab value="callback">Callback</Tabs.Tab>
          <Tabs.Tab value="events">Events{countOf(events.length)}</Tabs.Tab>
          <Tabs.Tab value="request">Request</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="messages">
          {messages.length === 0 ? noneOf('messages', run) : <Messages messages={messages} />}
        </Tabs.Panel>
        <Tabs.Panel value="output">
          {run.output ? <JsonView value={run.output} label="output" /> : noneOf('output', run)}
        </Tabs.Panel>
        <Tabs.Panel value="documents">
          <Documents run={run} />
        </Tabs.Panel>
        <Tabs.Panel value="calls">
          <Calls run={run} />
        </Tabs.Panel>
        <Tabs.Panel value="errors">
          <Errors errors={run.errors} />
        </Tabs.Panel>
        <Tabs.Panel value="callback">
          <Callbacks run={run} />
        </Tabs.Panel>
        <Tabs.Panel value="events">
          {events.length === 0 ? noneOf('events', run) : <EventLines events={events} />}
        </Tabs.Panel>
        <Tabs.Panel value="request">
          <RequestTab run={run} />
        </Tabs.Panel>
      </Tabs>
    </Panel>
  );
}

function firstTab(run: Run): Tab {
  if (run.state === 'failed') return 'errors';
  return run.state === 'completed' ? 'output' : 'messages';
}

/** Shows that there is nothing: with "yet" while the run is in progress. */
function noneOf(things: string, { state }: Run) {
  return <Text c="dimmed">{`No ${things}${isTerminal(state) ? '' : ' yet'}`}</Text>;
}

/** Returns the number of documents of a completed run. */
function documentsOf({ output }: Run): number {
  const artifacts = output?.['artifacts'];
  return Array.isArray(artifacts) ? artifacts.length : 0;
}

function countOf(count: number): string {
  return count === 0 ? '' : ` (${count})`;
}
