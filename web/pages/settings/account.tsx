import { Stack } from '@mantine/core';
import { useSession } from '../../api/session.ts';
import { Page } from '../../components/page.tsx';
import { Panel } from '../../components/panel.tsx';
import { ChangePassword } from './account/change-password.tsx';
import { Sessions } from './account/sessions.tsx';

/** The page of the user's sessions and password. */
export function Account() {
  const { me } = useSession();
  return (
    <Page
      title="Your account"
      lead={`${me.user?.name ?? ''}, ${me.user?.email ?? ''}, ${me.role ?? ''} of ${me.workspace.name}`}
    >
      <Stack gap="md">
        <Panel title="Sessions">
          <Sessions />
        </Panel>
        <Panel title="Password">
          <ChangePassword />
        </Panel>
      </Stack>
    </Page>
  );
}
