import { Code, Group, Stack, Text } from '@mantine/core';
import { queryOptions, useQuery } from '@tanstack/react-query';
import { unwrap, api } from '../../api/client.ts';
import { CopyButton } from '../../components/copy-button.tsx';
import { Page } from '../../components/page.tsx';
import { ListSkeleton } from '../../components/page-states.tsx';
import { Panel } from '../../components/panel.tsx';
import { EmptyState, ErrorState } from '../../components/states.tsx';

const addressesQuery = queryOptions({
  queryKey: ['source-addresses'],
  queryFn: ({ signal }) => unwrap(api.GET('/api/v1/source-addresses', { signal })),
});

/** The addresses from which deliveries and callbacks are sent. */
export function SourceAddresses() {
  const query = useQuery(addressesQuery);
  const lead = 'Deliveries and callbacks come from these addresses. Allow them in your firewall.';
  return (
    <Page title="Source addresses" lead={lead}>
      {query.isPending ? (
        <ListSkeleton rows={2} />
      ) : query.isError ? (
        <ErrorState
          title="The addresses could not be loaded"
          error={query.error}
          onRetry={() => void query.refetch()}
        />
      ) : query.data.addresses.length === 0 ? (
        <EmptyState title="No source addresses" example="SOURCE_ADDRESSES=203.0.113.7,2001:db8::7">
          Operators publish the outgoing addresses with the variable SOURCE_ADDRESSES.
        </EmptyState>
      ) : (
        <Panel>
          <Stack gap="sm">
            {query.data.addresses.map((address) => (
              <Group key={address} gap="xs">
                <Code fz="sm">{address}</Code>
                <CopyButton iconOnly value={address} label={`Copy ${address}`} />
              </Group>
            ))}
            <Group>
              <CopyButton value={query.data.addresses.join('\n')} label="Copy all" />
            </Group>
            <Text size="sm" c="dimmed">
              Programs can read this list without a key:{' '}
              <Code>{location.origin}/api/v1/source-addresses</Code>
            </Text>
          </Stack>
        </Panel>
      )}
    </Page>
  );
}
