import { Button, Stack } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useSession } from '../../api/session.ts';
import { IconUserPlus } from '../../components/icons.tsx';
import { PagedSection } from '../../components/paged-section.tsx';
import { Page } from '../../components/page.tsx';
import { Invitations } from './members/invitations.tsx';
import { Invite } from './members/invite.tsx';
import { MemberTable } from './members/member-table.tsx';
import { membersQuery } from '../../api/members.ts';

/** The people of the workspace, and who is invited. */
export function Members() {
  const { isAtLeast } = useSession();
  const [inviting, setInviting] = useState(false);
  const query = useInfiniteQuery(membersQuery);
  const canInvite = isAtLeast('admin');
  const button = canInvite ? (
    <Button leftSection={<IconUserPlus size={16} aria-hidden />} onClick={() => setInviting(true)}>
      Invite member
    </Button>
  ) : null;
  return (
    <Page title="Members" lead="The members of this workspace and their roles." actions={button}>
      <Stack gap="xl">
        <div>
          <PagedSection query={query} failure="The members could not be loaded" empty={null}>
            {(members) => <MemberTable members={members} isComplete={!query.hasNextPage} />}
          </PagedSection>
        </div>
        {canInvite ? <Invitations /> : null}
      </Stack>
      {inviting ? <Invite onClose={() => setInviting(false)} /> : null}
    </Page>
  );
}
