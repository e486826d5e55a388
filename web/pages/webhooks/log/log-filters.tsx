import { Button } from '@mantine/core';
import { getRouteApi } from '@tanstack/react-router';
import { DELIVERY_STATUSES } from '../../../../src/domain/webhooks/delivery.ts';
import { EVENT_KINDS } from '../../../../src/domain/webhooks/event-kinds.ts';
import { FilterMenu } from '../../../components/filter-menu.tsx';
import { SearchField } from '../../../components/search-field.tsx';
import { Status } from '../../../components/status.tsx';
import { withChange, type SearchChange } from '../search.ts';
import classes from './log.module.css';
import { SPAN_LABELS, SPANS, type Span } from '../../../format/spans.ts';

const routeApi = getRouteApi('/signed-in/settings/integrations/webhooks/$webhookId');

const STATUSES = DELIVERY_STATUSES.map((value) => ({ value, title: <Status status={value} /> }));
const KINDS = EVENT_KINDS.map((value) => ({ value, title: value }));

/** The filters of the log. All of them are in the address. */
export function LogFilters() {
  const search = routeApi.useSearch();
  const navigate = routeApi.useNavigate();
  const { status = [], event = [], span, text = '' } = search;
  const change = (members: SearchChange) =>
    void navigate({ search: (before) => withChange(before, members), replace: true, resetScroll: false });
  const isFiltered = status.length > 0 || event.length > 0 || span !== undefined || text !== '';
  return (
    <div className={classes['filters']}>
      <FilterMenu
        label="Status"
        options={STATUSES}
        chosen={status}
        onChange={(chosen) => change({ status: chosen })}
      />
      <FilterMenu
        label="Event"
        options={KINDS}
        chosen={event}
        onChange={(chosen) => change({ event: chosen })}
      />
      <select
        className="plain-select"
        aria-label="Time"
        value={span ?? ''}
        onChange={({ currentTarget: { value } }) =>
          change({ span: value === '' ? undefined : (value as Span) })
        }
      >
        <option value="">Any time</option>
        {SPANS.map((value) => (
          <option key={value} value={value}>
            {SPAN_LABELS[value]}
          </option>
        ))}
      </select>
      <SearchField
        label="Search by ID, issue key, title or name"
        placeholder="ID, issue key, title or name…"
        text={text}
        onChange={(words) => change({ text: words })}
        className={classes['search']}
      />
      {isFiltered ? (
        <Button
          variant="subtle"
          size="sm"
          onClick={() => change({ status: [], event: [], span: undefined, text: '' })}
        >
          Clear filters
        </Button>
      ) : null}
    </div>
  );
}
