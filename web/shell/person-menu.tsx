import { ActionIcon, Menu, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { unwrap, api } from '../api/client.ts';
import { isSignedOut } from '../api/problem.ts';
import { useSession } from '../api/session.ts';
import { IconLogout, IconUserCircle, IconUserCog } from '../components/icons.tsx';
import { notifyTabs } from '../routing/session-end.ts';
import { errorMessage } from '../components/states.tsx';

/** The menu of the signed-in user: account and sign-out. */
export function PersonMenu() {
  const { me } = useSession();
  const signOut = useSignOut();
  return (
    <Menu position="bottom-end" width={240}>
      <Menu.Target>
        <ActionIcon
          variant="subtle"
          color="gray"
          size="lg"
          aria-label={`Account of ${me.user?.name ?? 'you'}`}
        >
          <IconUserCircle size={20} aria-hidden />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>
          <Text size="sm" fw={600} c="var(--mantine-color-text)" truncate>
            {me.user?.name}
          </Text>
          <Text size="xs" truncate>
            {me.user?.email} · {me.role}
          </Text>
        </Menu.Label>
        <Menu.Item
          component={Link}
          to="/settings/account"
          leftSection={<IconUserCog size={16} aria-hidden />}
        >
          Your account
        </Menu.Item>
        <Menu.Item leftSection={<IconLogout size={16} aria-hidden />} onClick={() => signOut.mutate()}>
          Sign out
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

function useSignOut() {
  const queryClient = useQueryClient();
  const navigate = useNavigate();
  return useMutation({
    meta: { signsIn: true },
    async mutationFn() {
      await unwrap(api.DELETE('/api/v1/session')).catch((error: unknown) => {
        if (!isSignedOut(error)) throw error;
      });
    },
    async onSuccess() {
      notifyTabs('signed-out');
      await navigate({ to: '/sign-in', ignoreBlocker: true });
      queryClient.clear();
    },
    onError: (error) =>
      notifications.show({ color: 'red', title: 'Sign-out failed', message: errorMessage(error) }),
  });
}
