import { Link } from '@tanstack/react-router';
import { memo, type CSSProperties } from 'react';
import { isTerminal, shownStateOf } from '../../../src/domain/tasks/task-states.ts';
import { useProjects } from '../../api/projects.ts';
import { ProgressLine } from '../../components/progress-line.tsx';
import { useRowGroups } from '../../components/use-row-groups.ts';
import { Status } from '../../components/status.tsx';
import { Duration, Elapsed, RelativeTime } from '../../components/time.tsx';
import { toneOf } from '../../components/tones.ts';
import { MAX_SELECTED } from './bulk.ts';
import type { ListedRun } from './queries.ts';
import classes from './run-table.module.css';
import { noteOf, progressText, actorName } from './words.ts';

/** The selected runs; null without the permission to change runs. */
export type Selection = {
  ids: ReadonlySet<string>;
  onChange: (ids: readonly string[], isOn: boolean) => void;
} | null;

type TableProps = { rows: readonly ListedRun[]; openId: string | undefined; selection: Selection };

/** The table of runs. Each row opens its details beside the list, and can be selected. */
export function RunTable({ rows, openId, selection }: TableProps) {
  const { nameOf } = useProjects();
  const groups = useRowGroups(rows, idOf);
  return (
    <div className={classes['frame']}>
      <table className={classes['table']} data-selectable={selection !== null || undefined}>
        <thead>
          <tr className={classes['columns']}>
            {selection ? (
              <th className={classes['check']}>
                <SelectAll rows={rows} {...selection} />
              </th>
            ) : null}
            <th>State</th>
            <th>Task</th>
            <th className={classes['wide']}>Type</th>
            <th className={classes['wide']}>Project</th>
            <th>Progress</th>
            <th className={classes['wide']}>Submitted</th>
            <th className={classes['widest']}>Submitted by</th>
          </tr>
        </thead>
        {groups.map((group) => (
          <RowGroup
            key={group.key}
            rows={group.rows}
            nameOf={nameOf}
            openId={group.rows.some((run) => run.execution_id === openId) ? openId : undefined}
            selectedIds={selection && selection.ids}
            onSelect={selection?.onChange}
          />
        ))}
      </table>
    </div>
  );
}

function idOf(run: ListedRun): string {
  return run.execution_id;
}

/** Rows that are laid out only near the viewport. Until then, their number of lines determines their height. */
const RowGroup = memo(function RowGroup({
  rows,
  nameOf,
  openId,
  selectedIds,
  onSelect,
}: {
  rows: readonly ListedRun[];
  nameOf: (projectId: string) => string;
  openId: string | undefined;
  /** null: rows cannot be selected. */
  selectedIds: ReadonlySet<string> | null;
  onSelect: NonNullable<Selection>['onChange'] | undefined;
}) {
  const withNote = rows.filter((run) => noteOf(run) !== '' || !isTerminal(run.state)).length;
  return (
    <tbody
      className="row-group"
      style={{ '--rows': rows.length, '--second-lines': withNote } as CSSProperties}
    >
      {rows.map((run) => (
        <Row
          key={run.execution_id}
          run={run}
          project={nameOf(run.project_id)}
          isOpen={run.execution_id === openId}
          isSelected={selectedIds && selectedIds.has(run.execution_id)}
          onSelect={onSelect}
        />
      ))}
    </tbody>
  );
});

const Row = memo(function Row({
  run,
  project,
  isOpen,
  isSelected,
  onSelect,
}: {
  run: ListedRun;
  project: string;
  isOpen: boolean;
  /** null: rows cannot be selected. */
  isSelected: boolean | null;
  onSelect: NonNullable<Selection>['onChange'] | undefined;
}) {
  return (
    <tr
      className={`${classes['columns']} ${classes['row']}`}
      data-open={isOpen || undefined}
      data-run={run.execution_id}
      data-list-row
    >
      {isSelected === null ? null : (
        <td className={classes['check']}>
          <label>
            <input
              type="checkbox"
              aria-label={`Select ${run.title}`}
              checked={isSelected}
              onChange={(event) => onSelect?.([run.execution_id], event.currentTarget.checked)}
            />
          </label>
        </td>
      )}
      <td className={classes['state']}>
        <Status status={shownStateOf(run)} />
      </td>
      <td className={classes['task']}>
        <Link
          from="/orchestration"
          to="."
          search={(before) => ({ ...before, run: run.execution_id })}
          replace={isOpen}
          resetScroll={false}
          className={classes['title']}
          aria-current={isOpen ? 'true' : undefined}
        >
          {run.title}
        </Link>
        <span className={classes['narrow']}>
          {run.task_type} · {project} · <RelativeTime at={run.created_at} />
        </span>
        <Note run={run} />
      </td>
      <td className={classes['wide']}>{run.task_type}</td>
      <td className={classes['wide']} title={project}>
        {project}
      </td>
      <td className={classes['progress']}>
        <Progress run={run} />
      </td>
      <td className={classes['wide']}>
        <RelativeTime at={run.created_at} />
      </td>
      <td className={classes['widest']} title={actorName(run.created_by)}>
        {actorName(run.created_by)}
      </td>
    </tr>
  );
});

/** Shows why a run failed, and that it is a rerun. */
function Note({ run }: { run: ListedRun }) {
  const note = noteOf(run);
  return note === '' ? null : (
    <span className={classes['note']} title={note}>
      {note}
    </span>
  );
}

/** Selects the listed runs, as many as can be selected. */
function SelectAll({ rows, ids, onChange }: NonNullable<Selection> & { rows: readonly ListedRun[] }) {
  const listed = rows.map((run) => run.execution_id);
  const count = listed.filter((id) => ids.has(id)).length;
  const isAll = count > 0 && count >= Math.min(listed.length, MAX_SELECTED);
  return (
    <label>
      <input
        type="checkbox"
        aria-label="Select all listed runs"
        data-select-all
        checked={isAll}
        ref={(box) => {
          if (box) box.indeterminate = count > 0 && !isAll;
        }}
        onChange={() => onChange(listed, !isAll)}
      />
      <span className={classes['all']} aria-hidden>
        Select all
      </span>
    </label>
  );
}

/** Shows how far an active run is, and how long an ended one took. */
function Progress({ run }: { run: ListedRun }) {
  if (isTerminal(run.state)) {
    return (
      <span className={classes['quiet']}>
        {progressText(run)}
        {run.duration_ms === null ? null : (
          <>
            {' '}
            · <Duration ms={run.duration_ms} />
          </>
        )}
      </span>
    );
  }
  return (
    <>
      <span className={classes['live']}>
        <ProgressLine
          percent={run.progress.percent}
          tone={toneOf(shownStateOf(run))}
          label={`Progress of ${run.title}`}
        />
        <span className={classes['quiet']}>
          <Elapsed since={run.started_at ?? run.created_at} />
        </span>
      </span>
      <span className={classes['quiet']} title={progressText(run)}>
        {progressText(run)}
      </span>
    </>
  );
}
