import { Button, Group } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { AUDIT_AREAS } from '../../../../src/domain/people/audit-actions.ts';
import { FilterMenu } from '../../../components/filter-menu.tsx';
import { membersQuery } from '../../../api/members.ts';
import type { AuditSearch, Span } from './search.ts';

const routeApi = getRouteApi('/signed-in/settings/audit-log');

const AREAS = AUDIT_AREAS.map((value) => ({ value, title: value }));

/** The filters of the list. All of them are in the address. */
export function AuditFilters() {
  const { what = [], who, since } = routeApi.useSearch();
  const navigate = routeApi.useNavigate();
  const { data: members = [] } = useInfiniteQuery(membersQuery);
  const change = (fields: { [K in keyof AuditSearch]: AuditSearch[K] | undefined }) =>
    void navigate({ search: (before) => withoutEmpty({ ...before, ...fields }), replace: true });
  const people = members.map(({ id, name }) => ({ value: `user:${id}`, name }));
  const isListed = who === undefined || who === 'system' || people.some(({ value }) => value === who);
  return (
    <Group gap="xs" mb="md">
      <FilterMenu
        label="Target"
        options={AREAS}
        chosen={what}
        onChange={(chosen) => change({ what: chosen })}
      />
      <select
        className="plain-select"
        aria-label="Actor"
        value={who ?? ''}
        onChange={(event) => change({ who: event.currentTarget.value || undefined })}
      >
        <option value="">All actors</option>
        {people.map(({ value, name }) => (
          <option key={value} value={value}>
            {name}
          </option>
        ))}
        <option value="system">System</option>
        {isListed ? null : <option value={who}>Selected actor</option>}
      </select>
      <select
        className="plain-select"
        aria-label="Period"
        value={since ?? ''}
        onChange={(event) => change({ since: (event.currentTarget.value || undefined) as Span | undefined })}
      >
        <option value="">Any time</option>
        <option value="day">Last 24 hours</option>
        <option value="week">Last 7 days</option>
        <option value="month">Last 30 days</option>
      </select>
      {what.length > 0 || who !== undefined || since !== undefined ? (
        <Button
          variant="subtle"
          size="sm"
          onClick={() => change({ what: undefined, who: undefined, since: undefined })}
        >
          Clear filters
        </Button>
      ) : null}
    </Group>
  );
}

function withoutEmpty(search: { [K in keyof AuditSearch]: AuditSearch[K] | undefined }): AuditSearch {
  const kept = Object.entries(search).filter(([, value]) => value !== undefined && value.length > 0);
  return Object.fromEntries(kept);
}
