import { Checkbox, Stack, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { unwrap, api } from '../../../api/client.ts';
import { Confirm } from '../../../components/confirm.tsx';
import { DataTable } from '../../../components/data-table.tsx';
import { errorMessage } from '../../../components/states.tsx';
import { RelativeTime } from '../../../components/time.tsx';
import { membersQuery, type Member } from '../../../api/members.ts';
import { keysOfQuery, type Key } from './queries.ts';

/** Removes a member after a confirmation, and revokes the keys that the member created unless the user keeps them. */
export function RemoveMember({ member, onClose }: { member: Member; onClose: () => void }) {
  const queryClient = useQueryClient();
  const [isRevoking, setIsRevoking] = useState(true);
  const keys = useQuery(keysOfQuery(member.id));
  const hasKeys = keys.isError || (keys.data ?? []).length > 0;
  const remove = useMutation({
    mutationFn: () => {
      const query = { revoke_keys: hasKeys && isRevoking ? ('true' as const) : ('false' as const) };
      return unwrap(api.DELETE('/api/v1/members/{id}', { params: { path: { id: member.id }, query } }));
    },
    async onSuccess() {
      await Promise.all(
        [membersQuery.queryKey, ['keys']].map((queryKey) => queryClient.invalidateQueries({ queryKey })),
      );
      onClose();
    },
  });
  return (
    <Confirm
      opened
      onClose={onClose}
      title={`Remove “${member.name}”?`}
      confirmLabel="Remove member"
      isDestructive
      onConfirm={() => remove.mutate()}
      isLoading={keys.isPending}
      isPending={remove.isPending}
      error={remove.error}
    >
      <Stack gap="sm">
        <Text>{`${member.email} is signed out everywhere immediately. Their tasks and webhooks stay.`}</Text>
        {keys.isError ? (
          <Text size="sm">{`Their API keys could not be loaded: ${errorMessage(keys.error)}`}</Text>
        ) : null}
        {keys.data && keys.data.length > 0 ? <Keys keys={keys.data} /> : null}
        {hasKeys ? (
          <Checkbox
            label="Revoke their API keys"
            description="If selected, programs that use these keys are rejected immediately. Otherwise the keys stay valid."
            checked={isRevoking}
            onChange={(event) => setIsRevoking(event.currentTarget.checked)}
          />
        ) : null}
      </Stack>
    </Confirm>
  );
}

function Keys({ keys }: { keys: readonly Key[] }) {
  return (
    <DataTable label="Their API keys" columns={['Name', 'Key', 'Last used']}>
      {keys.map((key) => (
        <tr key={key.id}>
          <td>
            <strong>{key.name}</strong>
          </td>
          <td>
            <code>{key.prefix}…</code>
          </td>
          <td>{key.last_used_at ? <RelativeTime at={key.last_used_at} /> : 'never'}</td>
        </tr>
      ))}
    </DataTable>
  );
}
