import { Button, Group, Stack, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useInfiniteQuery, useMutation, useQueryClient } from '@tanstack/react-query';
import { unwrap, api, type Schemas } from '../../../api/client.ts';
import { pagedQuery } from '../../../api/pages.ts';
import { DataTable } from '../../../components/data-table.tsx';
import { PagedSection } from '../../../components/paged-section.tsx';
import { errorMessage } from '../../../components/states.tsx';
import { RelativeTime } from '../../../components/time.tsx';
import { browserName } from '../../../format/browser.ts';

type Session = Schemas['Session'];

const sessionsQuery = pagedQuery<Session>(['sessions'], async (cursor, signal) => {
  const query = cursor ? { cursor } : {};
  return await unwrap(api.GET('/api/v1/sessions', { params: { query }, signal }));
});

/** The sessions of the user. Each except the current one can be ended. */
export function Sessions() {
  const query = useInfiniteQuery(sessionsQuery);
  const end = useEnd();
  return (
    <PagedSection query={query} failure="The sessions could not be loaded" empty={null}>
      {(sessions) => (
        <Stack gap="sm">
          <DataTable
            label="Sessions"
            columns={['Browser', 'IP address', 'Last seen', 'Signed in', '(Actions)']}
          >
            {sessions.map((session) => (
              <tr key={session.id}>
                <td title={session.user_agent ?? ''}>{browserName(session.user_agent)}</td>
                <td>{session.address ?? '–'}</td>
                <td>
                  <RelativeTime at={session.last_seen_at} />
                </td>
                <td>
                  <RelativeTime at={session.created_at} />
                </td>
                <td>
                  {session.current ? (
                    <Text size="sm" c="dimmed">
                      this session
                    </Text>
                  ) : (
                    <Button
                      size="compact-sm"
                      variant="default"
                      onClick={() => end.mutate(session.id)}
                      loading={end.isPending && end.variables === session.id}
                    >
                      End
                    </Button>
                  )}
                </td>
              </tr>
            ))}
          </DataTable>
          {sessions.length > 1 ? (
            <Group>
              <Button
                variant="default"
                size="xs"
                onClick={() => end.mutate('others')}
                loading={end.isPending && end.variables === 'others'}
              >
                End all other sessions
              </Button>
            </Group>
          ) : null}
        </Stack>
      )}
    </PagedSection>
  );
}

function useEnd() {
  const queryClient = useQueryClient();
  return useMutation({
    async mutationFn(which: string) {
      if (which === 'others') await unwrap(api.DELETE('/api/v1/sessions'));
      else await unwrap(api.DELETE('/api/v1/sessions/{id}', { params: { path: { id: which } } }));
    },
    onError: (error) =>
      notifications.show({
        color: 'red',
        title: 'The session could not be ended',
        message: errorMessage(error),
      }),
    onSettled: () => queryClient.invalidateQueries({ queryKey: sessionsQuery.queryKey }),
  });
}
