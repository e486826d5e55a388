import { useInfiniteQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useSession } from '../../api/session.ts';
import { Page } from '../../components/page.tsx';
import { PagedSection } from '../../components/paged-section.tsx';
import { EmptyState } from '../../components/states.tsx';
import { AuditEntries } from './audit-log/entries.tsx';
import { AuditFilters } from './audit-log/filters.tsx';
import { auditQuery } from './audit-log/queries.ts';

const routeApi = getRouteApi('/signed-in/settings/audit-log');

/** The audit log of the workspace. */
export function AuditLog() {
  const { isAtLeast } = useSession();
  const lead =
    'Changes to keys, members, projects and webhooks, deleted tasks, and sign-ins. The events of a run show who controlled it.';
  return (
    <Page title="Audit log" lead={lead} wide>
      {isAtLeast('admin') ? (
        <>
          <AuditFilters />
          <Entries />
        </>
      ) : (
        <EmptyState title="Admins only">Ask an admin of this workspace to look up an entry.</EmptyState>
      )}
    </Page>
  );
}

function Entries() {
  const query = useInfiniteQuery(auditQuery(routeApi.useSearch()));
  const empty = <EmptyState title="No matching entries">Change or clear the filters.</EmptyState>;
  return (
    <PagedSection query={query} failure="The audit log could not be loaded" empty={empty}>
      {(entries) => <AuditEntries entries={entries} />}
    </PagedSection>
  );
}
