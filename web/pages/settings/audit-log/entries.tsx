import { getRouteApi } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useProjects } from '../../../api/projects.ts';
import { DataTable } from '../../../components/data-table.tsx';
import { TextLink } from '../../../components/text-link.tsx';
import { RelativeTime } from '../../../components/time.tsx';
import type { AuditEntry } from './queries.ts';
import { actionText, detailsOf, actorName, subjectName } from './words.ts';

const routeApi = getRouteApi('/signed-in/settings/audit-log');

/** The table of audit log entries. */
export function AuditEntries({ entries }: { entries: readonly AuditEntry[] }) {
  const { nameOf } = useProjects();
  return (
    <DataTable label="Audit log" columns={['Time', 'Actor', 'Action', 'Target', 'Details']}>
      {entries.map((entry) => (
        <tr key={entry.id}>
          <td>
            <RelativeTime at={entry.at} />
          </td>
          <td>
            <Actor entry={entry} />
          </td>
          <td className="one-line">{actionText(entry)}</td>
          <td>
            <Subject entry={entry} projectName={nameOf} />
          </td>
          <td className="prose">{detailsOf(entry, nameOf)}</td>
        </tr>
      ))}
    </DataTable>
  );
}

/** Links to all entries of the same actor. */
function Actor({ entry: { actor, actor_label: label } }: { entry: AuditEntry }) {
  const search = routeApi.useSearch();
  return (
    <TextLink to="/settings/audit-log" search={{ ...search, who: actor }}>
      {actorName(label)}
    </TextLink>
  );
}

/** The target of an action, with a link if it has a page. */
function Subject({
  entry,
  projectName,
}: {
  entry: AuditEntry;
  projectName: (id: string) => string;
}): ReactNode {
  const name = subjectName(entry);
  const [kind, id = ''] = entry.subject.split(':');
  const { webhook_id: webhook } = entry.detail;
  if (kind === 'webhook') {
    return (
      <TextLink to="/settings/integrations/webhooks/$webhookId" params={{ webhookId: id }}>
        {name}
      </TextLink>
    );
  }
  if (kind === 'delivery' && typeof webhook === 'string') {
    const params = { webhookId: webhook, deliveryId: id };
    return (
      <TextLink to="/settings/integrations/webhooks/$webhookId/deliveries/$deliveryId" params={params}>
        a delivery to {name}
      </TextLink>
    );
  }
  if (kind === 'key') return <TextLink to="/settings/api-keys">{name}</TextLink>;
  // The entry has no name if the project was not changed itself.
  if (kind === 'project')
    return <TextLink to="/settings/projects">{name === entry.subject ? projectName(id) : name}</TextLink>;
  if (kind === 'user' || kind === 'invitation') return <TextLink to="/settings/members">{name}</TextLink>;
  return kind === 'session' ? 'a session' : kind === 'workspace' ? 'this workspace' : name;
}
