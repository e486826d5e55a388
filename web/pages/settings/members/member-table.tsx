import { Button, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { ROLES, type Role } from '../../../../src/domain/people/access.ts';
import { unwrap, api } from '../../../api/client.ts';
import { useSession } from '../../../api/session.ts';
import { DataTable } from '../../../components/data-table.tsx';
import { errorMessage } from '../../../components/states.tsx';
import { RelativeTime } from '../../../components/time.tsx';
import { membersQuery, type Member } from '../../../api/members.ts';
import { RemoveMember } from './remove-member.tsx';
import { ROLE_DESCRIPTIONS } from './roles.ts';

type TableProps = {
  members: readonly Member[];
  /** Whether these are all members. */
  isComplete: boolean;
};

/** People with their roles; admins change and remove them, but not the last owner. */
export function MemberTable({ members, isComplete }: TableProps) {
  const { me, isAtLeast } = useSession();
  const [removing, setRemoving] = useState<Member | null>(null);
  const owners = members.filter(({ role }) => role === 'owner');
  return (
    <>
      <DataTable label="Members" columns={['Name', 'E-mail', 'Role', 'Member since', '(Actions)']}>
        {members.map((member) => {
          const isAllowed = isAtLeast('admin') && (member.role !== 'owner' || isAtLeast('owner'));
          const isLastOwner = isComplete && member.role === 'owner' && owners.length === 1;
          const canChange = isAllowed && !isLastOwner;
          return (
            <tr key={member.id}>
              <td>
                <strong>{member.name}</strong>
                {member.id === me.user?.id ? ' (you)' : ''}
              </td>
              <td>{member.email}</td>
              <td>
                {canChange ? (
                  <RoleSelect member={member} />
                ) : (
                  <span title={ROLE_DESCRIPTIONS[member.role]}>{member.role}</span>
                )}
              </td>
              <td>
                <RelativeTime at={member.created_at} />
              </td>
              <td>
                {canChange ? (
                  <Button size="compact-sm" variant="default" onClick={() => setRemoving(member)}>
                    Remove…
                  </Button>
                ) : isAllowed ? (
                  <Text size="xs" c="dimmed">
                    The last owner must stay. Make another member an owner first.
                  </Text>
                ) : null}
              </td>
            </tr>
          );
        })}
      </DataTable>
      {removing ? <RemoveMember member={removing} onClose={() => setRemoving(null)} /> : null}
    </>
  );
}

function RoleSelect({ member }: { member: Member }) {
  const { isAtLeast } = useSession();
  const queryClient = useQueryClient();
  const change = useMutation({
    mutationFn: (role: Role) =>
      unwrap(api.PATCH('/api/v1/members/{id}', { params: { path: { id: member.id } }, body: { role } })),
    onError: (error) =>
      notifications.show({
        color: 'red',
        title: 'The role could not be changed',
        message: errorMessage(error),
      }),
    onSettled: () => queryClient.invalidateQueries({ queryKey: membersQuery.queryKey }),
  });
  return (
    <select
      className="plain-select"
      title={ROLE_DESCRIPTIONS[member.role]}
      aria-label={`Role of ${member.name}`}
      value={change.isPending ? change.variables : member.role}
      disabled={change.isPending}
      onChange={(event) => change.mutate(event.currentTarget.value as Role)}
    >
      {ROLES.filter((role) => role !== 'owner' || isAtLeast('owner')).map((role) => (
        <option key={role} value={role}>
          {role}
        </option>
      ))}
    </select>
  );
}
