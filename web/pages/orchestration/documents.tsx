import { Anchor, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { DataTable } from '../../components/data-table.tsx';
import { ListSkeleton } from '../../components/page-states.tsx';
import { ErrorState } from '../../components/states.tsx';
import { RelativeTime } from '../../components/time.tsx';
import { formatSize } from '../../format/size.ts';
import { artifactsQuery, isOver, REFRESH_MS, type Run } from './queries.ts';

/** Lists the documents of the agents for download. */
export function Documents({ run }: { run: Run }) {
  const query = useQuery({
    ...artifactsQuery(run.execution_id),
    refetchInterval: isOver(run) ? false : REFRESH_MS,
  });
  if (query.isError) {
    return (
      <ErrorState
        title="The documents could not be loaded"
        error={query.error}
        onRetry={() => void query.refetch()}
      />
    );
  }
  if (query.isPending) return <ListSkeleton rows={2} />;
  const { data } = query.data;
  if (data.length === 0) return <Text c="dimmed">No documents</Text>;
  return (
    <DataTable label="Documents" columns={['Name', 'Type', 'Size', 'Created by', 'Created']}>
      {data.map(({ name, media_type, size, step, agent, created_at, url }) => (
        <tr key={name}>
          <td>
            {/* The URL contains the host of BASE_URL, which may differ from the host of this page. */}
            <Anchor inherit underline="always" href={new URL(url).pathname} download={name}>
              {name}
            </Anchor>
          </td>
          <td>{media_type}</td>
          <td>{formatSize(size)}</td>
          <td>
            {agent}
            {step ? ` in ${step}` : ''}
          </td>
          <td>
            <RelativeTime at={created_at} />
          </td>
        </tr>
      ))}
    </DataTable>
  );
}
