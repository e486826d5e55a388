import { Button, Title } from '@mantine/core';
import { useInfiniteQuery, useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { unwrap, api } from '../../../api/client.ts';
import { Confirm } from '../../../components/confirm.tsx';
import { DataTable } from '../../../components/data-table.tsx';
import { LoadMore } from '../../../components/load-more.tsx';
import { RelativeTime } from '../../../components/time.tsx';
import { invitationsQuery, type Invitation } from './queries.ts';

/** The open invitations. */
export function Invitations() {
  const query = useInfiniteQuery(invitationsQuery);
  const [revoking, setRevoking] = useState<Invitation | null>(null);
  const invitations = query.data ?? [];
  if (invitations.length === 0) return null;
  return (
    <section>
      <Title order={2} mb="sm">
        Invitations
      </Title>
      <DataTable label="Invitations" columns={['E-mail', 'Role', 'Invited by', 'Expires', '(Actions)']}>
        {invitations.map((invitation) => (
          <tr key={invitation.id}>
            <td>
              <strong>{invitation.email}</strong>
            </td>
            <td>{invitation.role}</td>
            <td>{invitation.invited_by?.name ?? '–'}</td>
            <td>
              <RelativeTime at={invitation.expires_at} isAhead />
            </td>
            <td>
              <Button size="compact-sm" variant="default" onClick={() => setRevoking(invitation)}>
                Revoke…
              </Button>
            </td>
          </tr>
        ))}
      </DataTable>
      <LoadMore {...query} />
      {revoking ? <Revoke invitation={revoking} onClose={() => setRevoking(null)} /> : null}
    </section>
  );
}

function Revoke({ invitation, onClose }: { invitation: Invitation; onClose: () => void }) {
  const queryClient = useQueryClient();
  const revoke = useMutation({
    mutationFn: () =>
      unwrap(api.DELETE('/api/v1/invitations/{id}', { params: { path: { id: invitation.id } } })),
    async onSuccess() {
      await queryClient.invalidateQueries({ queryKey: invitationsQuery.queryKey });
      onClose();
    },
  });
  return (
    <Confirm
      opened
      onClose={onClose}
      title={`Revoke the invitation for ${invitation.email}?`}
      confirmLabel="Revoke invitation"
      isDestructive
      onConfirm={() => revoke.mutate()}
      isPending={revoke.isPending}
      error={revoke.error}
    >
      The link stops working immediately. You can invite the same e-mail address again.
    </Confirm>
  );
}
