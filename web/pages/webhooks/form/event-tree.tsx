import { Checkbox, Text } from '@mantine/core';
import { ABOUT_EVENTS, EVENT_KINDS, type EventKind } from '../../../../src/domain/webhooks/event-kinds.ts';
import type { FormErrors } from '../../../forms/validate.ts';
import { Panel } from '../../../components/panel.tsx';
import type { DraftEvents, DraftFilter } from './draft-filters.ts';
import { EventFilters } from './event-filters.tsx';
import classes from './form.module.css';
import { KINDS_BY_RESOURCE } from './words.ts';

type EventTreeProps = {
  events: DraftEvents;
  errors: FormErrors;
  onChange: (events: DraftEvents) => void;
};

/** The events as a tree by resource. A selected event shows its filters. */
export function EventTree({ events, errors, onChange }: EventTreeProps) {
  const choose = (kinds: readonly EventKind[], chosen: boolean) => {
    const others = Object.entries(events).filter(([kind]) => !kinds.includes(kind as EventKind));
    const these = chosen ? kinds.map((kind) => [kind, events[kind] ?? []]) : [];
    onChange(Object.fromEntries([...others, ...these]));
  };
  const subscribed = EVENT_KINDS.filter((kind) => events[kind]);
  return (
    <Panel title="Events">
      <fieldset className={classes['tree']}>
        <legend className="visually-hidden">Events</legend>
        <KindsBox label="All events" kinds={EVENT_KINDS} events={events} onChoose={choose} />
        {errors['events'] ? (
          <Text size="sm" role="alert" c="var(--mantine-color-error)">
            Select at least one event.
          </Text>
        ) : null}
        {KINDS_BY_RESOURCE.map(({ title, kinds }) => (
          <div key={title} className={classes['branch']} role="group" aria-label={title}>
            {kinds.length > 1 ? (
              <KindsBox label={title} kinds={kinds} events={events} onChoose={choose} />
            ) : (
              <Text size="sm" fw={600}>
                {title}
              </Text>
            )}
            {kinds.map((kind) => (
              <KindRow
                key={kind}
                kind={kind}
                filters={events[kind]}
                errors={errors}
                place={`events.${subscribed.indexOf(kind)}`}
                onChoose={(chosen) => choose([kind], chosen)}
                onFilters={(filters) => onChange({ ...events, [kind]: filters })}
              />
            ))}
          </div>
        ))}
      </fieldset>
    </Panel>
  );
}

type KindsBoxProps = {
  label: string;
  kinds: readonly EventKind[];
  events: DraftEvents;
  onChoose: (kinds: readonly EventKind[], chosen: boolean) => void;
};

function KindsBox({ label, kinds, events, onChoose }: KindsBoxProps) {
  const chosen = kinds.filter((kind) => events[kind]).length;
  return (
    <Checkbox
      label={label}
      classNames={{ label: classes['strong'] ?? '' }}
      checked={chosen === kinds.length}
      indeterminate={chosen > 0 && chosen < kinds.length}
      onChange={(event) => onChoose(kinds, event.currentTarget.checked)}
    />
  );
}

type KindRowProps = {
  kind: EventKind;
  filters: DraftFilter[] | undefined;
  errors: FormErrors;
  /** The path of the kind in the body, as in errors. */
  place: string;
  onChoose: (chosen: boolean) => void;
  onFilters: (filters: DraftFilter[]) => void;
};

function KindRow({ kind, filters, errors, place, onChoose, onFilters }: KindRowProps) {
  return (
    <div className={classes['leaf']}>
      <Checkbox
        label={<code>{kind}</code>}
        description={ABOUT_EVENTS[kind].description}
        checked={filters !== undefined}
        onChange={(event) => onChoose(event.currentTarget.checked)}
      />
      {filters ? (
        <EventFilters kind={kind} filters={filters} errors={errors} place={place} onChange={onFilters} />
      ) : null}
    </div>
  );
}
