import { Button } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useSession } from '../../api/session.ts';
import { IconPlus } from '../../components/icons.tsx';
import { PagedSection } from '../../components/paged-section.tsx';
import { Page } from '../../components/page.tsx';
import { EmptyState } from '../../components/states.tsx';
import { KeyTable } from './keys/key-table.tsx';
import { NewKey } from './keys/new-key.tsx';
import { keysQuery } from './keys/queries.ts';

/** The page of API keys. */
export function ApiKeys() {
  const { isAtLeast } = useSession();
  const [isCreating, setIsCreating] = useState(false);
  const canCreate = isAtLeast('admin');
  const lead =
    'Programs use API keys to submit tasks and send events. Each key belongs to one project; its event and webhook scopes apply to the whole workspace.';
  const button = (
    <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={() => setIsCreating(true)}>
      Create key
    </Button>
  );
  return (
    <Page title="API keys" lead={lead} actions={canCreate ? button : null}>
      {canCreate ? (
        <Keys />
      ) : (
        <EmptyState title="Only admins can see API keys">
          Ask an admin of this workspace to create a key for you.
        </EmptyState>
      )}
      {isCreating ? <NewKey onClose={() => setIsCreating(false)} /> : null}
    </Page>
  );
}

function Keys() {
  const query = useInfiniteQuery(keysQuery);
  const empty = (
    <EmptyState
      title="No API keys yet"
      example={`export BATON_API_KEY=bt_…\ncurl -H "X-API-Key: $BATON_API_KEY" ${location.origin}/api/v1/me`}
    >
      Create one key for each program, so that you can revoke them separately.
    </EmptyState>
  );
  return (
    <PagedSection query={query} failure="The keys could not be loaded" empty={empty}>
      {(keys) => <KeyTable keys={keys} />}
    </PagedSection>
  );
}
