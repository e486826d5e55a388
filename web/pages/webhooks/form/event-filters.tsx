import { ActionIcon, Autocomplete, Button, TagsInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import type { EventKind } from '../../../../src/domain/webhooks/event-kinds.ts';
import { sampleData } from '../../../../src/domain/webhooks/event-samples.ts';
import { MAX_FILTERS, MAX_FILTER_VALUES } from '../../../../src/domain/common/limits.ts';
import { valuesOf } from '../../../../src/domain/webhooks/matching.ts';
import type { FilterField, FilterValue } from '../../../../src/domain/webhooks/webhook.ts';
import { IconPlus, IconX } from '../../../components/icons.tsx';
import type { FormErrors } from '../../../forms/validate.ts';
import { filterValuesQuery } from '../parts/queries.ts';
import { newFilter, type DraftFilter } from './draft-filters.ts';
import classes from './form.module.css';
import { filterableIn, valueOf, labelOf, USUAL_STATUSES } from './words.ts';

type FiltersProps = {
  kind: EventKind;
  filters: DraftFilter[];
  errors: FormErrors;
  place: string;
  onChange: (filters: DraftFilter[]) => void;
};

/** The filters of one kind as sentences: “only when status changes to Done, and priority is one of High, Critical”. */
export function EventFilters({ kind, filters, errors, place, onChange }: FiltersProps) {
  const { fields, changes } = filterableIn(kind);
  const [first] = fields;
  const part = useRef<HTMLDivElement>(null);
  const count = useRef(filters.length);
  useEffect(() => {
    const isAdded = filters.length > count.current;
    count.current = filters.length;
    if (isAdded) [...(part.current?.querySelectorAll('select') ?? [])].at(-2)?.focus();
  }, [filters.length]);
  if (first === undefined && filters.length === 0) return null;
  const add = () =>
    onChange([
      ...filters,
      newFilter({ field: first ?? 'project', operator: changes ? 'changed_to' : 'values', values: [] }),
    ]);
  return (
    <div className={classes['filters']} ref={part} role="group" aria-label={`Filters of ${kind}`}>
      {filters.map((filter, index) => (
        <FilterSentence
          key={filter.key}
          kind={kind}
          filter={filter}
          isFirst={index === 0}
          error={errorOf(errors, `${place}.filters.${index}`)}
          onChange={(changed) => onChange(filters.map((one) => (one.key === filter.key ? changed : one)))}
          onRemove={() => onChange(filters.filter((one) => one.key !== filter.key))}
        />
      ))}
      {filters.length < MAX_FILTERS && first !== undefined ? (
        <Button
          variant="subtle"
          size="compact-sm"
          leftSection={<IconPlus size={14} aria-hidden />}
          onClick={add}
          aria-label={`Add filter for ${kind}`}
        >
          Add filter
        </Button>
      ) : null}
    </div>
  );
}

function errorOf(errors: FormErrors, place: string): string | undefined {
  const [found] = Object.entries(errors).filter(([path]) => path === place || path.startsWith(`${place}.`));
  return found?.[1];
}

type SentenceProps = {
  kind: EventKind;
  filter: DraftFilter;
  isFirst: boolean;
  error: string | undefined;
  onChange: (filter: DraftFilter) => void;
  onRemove: () => void;
};

function FilterSentence({ kind, filter, isFirst, error, onChange, onRemove }: SentenceProps) {
  const { fields, changes } = filterableIn(kind);
  const offered = fields.includes(filter.field) ? fields : [...fields, filter.field];
  const hasChanges = changes || filter.operator === 'changed_to';
  return (
    <div className={classes['sentence']}>
      <span className={classes['lead']}>{isFirst ? 'only when' : 'and'}</span>
      <select
        className="plain-select"
        aria-label="Field"
        value={filter.field}
        onChange={(event) =>
          onChange({ ...filter, field: event.currentTarget.value as FilterField, values: [] })
        }
      >
        {offered.map((field) => (
          <option key={field}>{field}</option>
        ))}
      </select>
      <select
        className="plain-select"
        aria-label="Operator"
        value={filter.operator}
        onChange={(event) => {
          const operator = event.currentTarget.value as DraftFilter['operator'];
          const values = operator === 'changed_to' ? filter.values.slice(0, 1) : filter.values;
          onChange({ ...filter, operator, values });
        }}
      >
        {hasChanges ? <option value="changed_to">changes to</option> : null}
        <option value="values">is one of</option>
      </select>
      <ValueInput kind={kind} filter={filter} error={error} onChange={onChange} />
      <ActionIcon
        variant="subtle"
        color="gray"
        onClick={onRemove}
        aria-label={`Remove filter on ${filter.field}`}
        title="Remove"
      >
        <IconX size={16} aria-hidden />
      </ActionIcon>
    </div>
  );
}

type ValueProps = Pick<SentenceProps, 'kind' | 'filter' | 'error' | 'onChange'>;

function ValueInput({ kind, filter, error, onChange }: ValueProps) {
  const known = useKnownValues(kind, filter);
  const words = [...new Set(known.map(labelOf))];
  const setValues = (given: readonly string[]) =>
    onChange({ ...filter, values: given.map((word) => valueOf(word, [...known, ...filter.values])) });
  const common = { data: words, error, className: classes['value'] ?? '', 'aria-label': 'Value' };
  return filter.operator === 'values' ? (
    <TagsInput
      {...common}
      placeholder={filter.values.length === 0 ? 'Values' : ''}
      value={filter.values.map(labelOf)}
      maxTags={MAX_FILTER_VALUES}
      acceptValueOnBlur
      onChange={setValues}
    />
  ) : (
    <Autocomplete
      {...common}
      placeholder="Value"
      value={filter.values.map(labelOf)[0] ?? ''}
      onChange={(word) => setValues(word === '' ? [] : [word])}
    />
  );
}

/** Returns the values of recent events in this field, then those of the sample and other usual ones. */
function useKnownValues(event: EventKind, { field, operator }: DraftFilter): FilterValue[] {
  const { data } = useQuery(filterValuesQuery);
  const seen = data?.data.find((one) => one.event === event && one.field === field);
  const sample = valuesOf(field, { event, data: sampleData(event) });
  return operator === 'values'
    ? [
        ...(seen?.values ?? []),
        ...sample.values,
        ...(field === 'status' ? (USUAL_STATUSES[event] ?? []) : []),
      ]
    : [...(seen?.changed_to ?? []), ...(seen?.values ?? []), ...sample.changedTo];
}
