import type { UseInfiniteQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { LoadMore } from './load-more.tsx';
import { ListSkeleton } from './page-states.tsx';
import { ErrorState } from './states.tsx';

type SectionProps<Row> = {
  query: UseInfiniteQueryResult<Row[]>;
  /** "The keys could not be loaded". */
  failure: string;
  empty: ReactNode;
  children: (rows: readonly Row[]) => ReactNode;
};

/** A paged list with its skeleton, error and empty state. */
export function PagedSection<Row>({ query, failure, empty, children }: SectionProps<Row>) {
  const { data: rows = [] } = query;
  if (query.isPending) return <ListSkeleton />;
  if (query.isError && rows.length === 0) {
    return <ErrorState title={failure} error={query.error} onRetry={() => void query.refetch()} />;
  }
  if (rows.length === 0) return empty;
  return (
    <>
      {children(rows)}
      <LoadMore {...query} />
    </>
  );
}
