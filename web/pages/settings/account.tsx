import { Stack } from '@mantine/core';
import { useSession } from '../../api/session.ts';
import { Page } from '../../components/page.tsx';
import { Panel } from '../../components/panel.tsx';
import { ChangePassword } from './account/change-password.tsx';
import { Sessions } from './account/sessions.tsx';

/** The page of the user's password and sessions. The list comes last: its length is not known before it is loaded. */
export function Account() {
  const { me } = useSession();
  return (
    <Page
      title="Your account"
      lead={`${me.user?.name ?? ''}, ${me.user?.email ?? ''}, ${me.role ?? ''} of ${me.workspace.name}`}
    >
      <Stack gap="md">
        <Panel title="Password">
          <ChangePassword />
        </Panel>
        <Panel title="Sessions">
          <Sessions />
        </Panel>
      </Stack>
    </Page>
  );
}
