import { Button, Group } from '@mantine/core';
import { useIntersection } from '@mantine/hooks';
import { useCallback, useEffect, useState } from 'react';
import { ErrorText } from './states.tsx';

type NextPage = { isFetchNextPageError: boolean; error: unknown };
type MoreProps = {
  hasNextPage: boolean;
  isFetchingNextPage: boolean;
  isError: boolean;
  fetchNextPage: () => Promise<NextPage>;
};

/**
 * Loads the next page of a list when its end is near the viewport, or by the button. After an error only by the button. Needs a
 * `key` where the filters of the list can change: the error is that of its query.
 */
export function LoadMore({ hasNextPage, isFetchingNextPage, isError, fetchNextPage }: MoreProps) {
  const { ref, entry } = useIntersection({ rootMargin: '300px' });
  /** Kept here, because a refresh of the pages before removes the error of the query. */
  const [failure, setFailure] = useState<unknown>(null);
  const keep = useCallback(
    ({ isFetchNextPageError, error }: NextPage) => setFailure(isFetchNextPageError ? error : null),
    [],
  );
  const isNear = entry?.isIntersecting === true;
  const isDue = isNear && hasNextPage && !isFetchingNextPage && !isError && failure === null;
  useEffect(() => {
    if (isDue) void fetchNextPage().then(keep);
  }, [isDue, fetchNextPage, keep]);
  if (!hasNextPage) return null;
  return (
    <Group ref={ref} justify="center" py="md">
      {isFetchingNextPage ? null : <ErrorText error={failure} />}
      <Button variant="default" loading={isFetchingNextPage} onClick={() => void fetchNextPage().then(keep)}>
        Show more
      </Button>
    </Group>
  );
}
