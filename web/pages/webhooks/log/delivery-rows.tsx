import { memo, type CSSProperties } from 'react';
import { useRowGroups } from '../../../components/use-row-groups.ts';
import type { Delivery } from '../parts/queries.ts';
import { DeliveryRow } from './delivery-row.tsx';
import classes from './log.module.css';

/** The listed deliveries. One of them can be open beside the list. */
export function DeliveryRows({ rows, openId }: { rows: readonly Delivery[]; openId: string | undefined }) {
  const groups = useRowGroups(rows, idOf);
  return (
    <div className={classes['rows']} role="list" aria-label="Deliveries">
      {groups.map((group) => (
        <RowGroup
          key={group.key}
          rows={group.rows}
          openId={group.rows.some(({ id }) => id === openId) ? openId : undefined}
        />
      ))}
    </div>
  );
}

function idOf({ id }: Delivery): string {
  return id;
}

const RowGroup = memo(function RowGroup({
  rows,
  openId,
}: {
  rows: readonly Delivery[];
  openId: string | undefined;
}) {
  return (
    <div
      className={`row-group ${classes['group']}`}
      role="presentation"
      style={{ '--rows': rows.length } as CSSProperties}
    >
      {rows.map((row) => (
        <DeliveryRow key={row.id} delivery={row} isOpen={row.id === openId} />
      ))}
    </div>
  );
});
