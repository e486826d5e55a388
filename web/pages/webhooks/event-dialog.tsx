import { Stack, Text, Title } from '@mantine/core';
import { queryOptions, useQuery } from '@tanstack/react-query';
import type { EventKind } from '../../../src/domain/webhooks/event-kinds.ts';
import { api, unwrap } from '../../api/client.ts';
import { JsonView } from '../../components/json-view.tsx';
import { ListSkeleton } from '../../components/page-states.tsx';
import { ErrorState } from '../../components/states.tsx';
import { Dialog } from '../../components/dialog.tsx';

/** The event kinds of this version, with their schemas and samples. */
const eventTypesQuery = queryOptions({
  queryKey: ['event-types'],
  queryFn: ({ signal }) => unwrap(api.GET('/api/v1/event-types', { signal })),
  staleTime: Number.POSITIVE_INFINITY,
});

/** The whole sample is expanded. */
const SAMPLE_LEVELS = 5;

/** Shows a sample and the JSON Schema of the payload of an event kind. */
export function EventDialog({ event, onClose }: { event: EventKind; onClose: () => void }) {
  const query = useQuery(eventTypesQuery);
  const type = query.data?.data.find((candidate) => candidate.event === event);
  return (
    <Dialog opened onClose={onClose} title={event} size="xl">
      {type ? (
        <Stack gap="sm">
          <Text size="sm">{type.description}</Text>
          <Title order={3} size="h5">
            Sample
          </Title>
          <JsonView value={type.sample} label="sample" levels={SAMPLE_LEVELS} />
          <Title order={3} size="h5">
            Schema
          </Title>
          <JsonView value={type.schema} label="schema" />
        </Stack>
      ) : query.isError ? (
        <ErrorState
          title="The event could not be loaded"
          error={query.error}
          onRetry={() => void query.refetch()}
        />
      ) : (
        <ListSkeleton rows={3} />
      )}
    </Dialog>
  );
}
