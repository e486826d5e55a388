import { Code, Group, Stack, Text } from '@mantine/core';
import { queryOptions, useQuery } from '@tanstack/react-query';
import { unwrap, api, type Schemas } from '../../api/client.ts';
import { DataTable } from '../../components/data-table.tsx';
import { Page } from '../../components/page.tsx';
import { ListSkeleton } from '../../components/page-states.tsx';
import { Panel } from '../../components/panel.tsx';
import { ErrorState } from '../../components/states.tsx';
import { Status } from '../../components/status.tsx';
import { RelativeTime } from '../../components/time.tsx';

const LEAD =
  'Agents, their models and tools, and the steps of each task type. Operators configure them in agents.yml.';

const agentsQuery = queryOptions({
  queryKey: ['agents'],
  queryFn: ({ signal }) => unwrap(api.GET('/api/v1/agents', { signal })),
  refetchInterval: 15_000,
});

type Catalogue = Schemas['AgentList'];
type Agent = Schemas['Agent'];

/** The catalogue of agents with the result of their last calls. */
export function Agents() {
  const query = useQuery(agentsQuery);
  return (
    <Page title="Agents" lead={LEAD}>
      {query.isPending ? (
        <ListSkeleton rows={5} />
      ) : query.isError ? (
        <ErrorState
          title="The agents could not be loaded"
          error={query.error}
          onRetry={() => void query.refetch()}
        />
      ) : (
        <Stack>
          <DataTable label="Agents" columns={['Agent', 'Backend', 'Tools', 'Last call']}>
            {query.data.data.map((agent) => (
              <AgentRow key={agent.name} agent={agent} />
            ))}
          </DataTable>
          <Teams catalogue={query.data} />
          {query.data.servers.length > 0 ? <Servers servers={query.data.servers} /> : null}
        </Stack>
      )}
    </Page>
  );
}

function AgentRow({ agent }: { agent: Agent }) {
  return (
    <tr>
      <td>
        <strong>{agent.name}</strong>
        <Text size="sm" c="dimmed" maw={420} miw={220}>
          {agent.instructions}
        </Text>
      </td>
      <td>
        {backendOf(agent)}
        <Text size="sm" c="dimmed">
          {limitsOf(agent)}
        </Text>
      </td>
      <td>{agent.tools.length === 0 ? 'none' : agent.tools.join(', ')}</td>
      <td>
        <LastCall agent={agent} />
      </td>
    </tr>
  );
}

/** A rehearsal makes no calls. */
function LastCall({ agent: { backend, last_call: call } }: { agent: Agent }) {
  if (backend === 'rehearsal') return <Status status="none">simulated</Status>;
  if (call === null) return <Status status="none">no calls yet</Status>;
  return (
    <>
      <Status status={call.ok ? 'succeeded' : 'failed'}>{call.ok ? 'succeeded' : 'failed'}</Status>{' '}
      <RelativeTime at={call.at} />
    </>
  );
}

function backendOf({ backend, model, address, command }: Agent): string {
  if (backend === 'model') return model ?? 'model';
  if (backend === 'a2a') return address === null ? 'remote agent (A2A)' : `A2A: ${address}`;
  if (backend === 'command') return command === null ? 'program' : command.join(' ');
  return 'rehearsal, without a model';
}

function limitsOf({ backend, limits }: Agent): string {
  if (backend === 'rehearsal') return '';
  const parts = [`${limits.model_calls} calls`];
  if (limits.tokens !== null) parts.push(`${limits.tokens.toLocaleString('en')} tokens`);
  if (limits.cost_usd !== null) parts.push(`$${limits.cost_usd}`);
  return `At most ${parts.join(', ')} per attempt, then it ${limits.on_limit === 'fail' ? 'fails' : 'escalates'}`;
}

function Teams({ catalogue: { teams, planner } }: { catalogue: Catalogue }) {
  return (
    <Panel title="Teams">
      <Stack gap="sm">
        {Object.entries(teams).map(([type, steps]) => (
          <Group key={type} gap="xs">
            <Text fw={600} w={80}>
              {type}
            </Text>
            <Text size="sm">{steps.map(({ step, agent }) => `${step} (${agent})`).join(' · ')}</Text>
          </Group>
        ))}
        <Text size="sm" c="dimmed">
          {planner === null
            ? 'Runs execute these steps. Steps that do not depend on each other run in parallel.'
            : `${planner.model ?? 'A model'} plans at most ${planner.max_steps} steps for each run from its team.`}
        </Text>
      </Stack>
    </Panel>
  );
}

function Servers({ servers }: { servers: Catalogue['servers'] }) {
  return (
    <Panel title="MCP servers">
      <Stack gap="xs">
        {servers.map(({ name, transport, address, command }) => (
          <Group key={name} gap="xs">
            <Text fw={600}>{name}</Text>
            <Text size="sm" c="dimmed">
              {transport}
            </Text>
            {address === null && command === null ? null : <Code>{address ?? command?.join(' ')}</Code>}
          </Group>
        ))}
      </Stack>
    </Panel>
  );
}
