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

/** Who changed what in this workspace. */
export function AuditLog() {
  const { isAtLeast } = useSession();
  const lead =
    'Who changed keys, people, projects, webhooks and tasks, and who signed in. Nobody can change it.';
  return (
    <Page title="Audit log" lead={lead} wide>
      {isAtLeast('admin') ? (
        <>
          <AuditFilters />
          <Entries />
        </>
      ) : (
        <EmptyState title="The audit log is for admins">
          It tells what everybody in this workspace has changed. An admin can look something up for you.
        </EmptyState>
      )}
    </Page>
  );
}

function Entries() {
  const query = useInfiniteQuery(auditQuery(routeApi.useSearch()));
  const empty = (
    <EmptyState title="Nothing of this was changed">Choose other filters, or clear them.</EmptyState>
  );
  return (
    <PagedSection query={query} failure="The audit log could not be loaded" empty={empty}>
      {(entries) => <AuditEntries entries={entries} />}
    </PagedSection>
  );
}
