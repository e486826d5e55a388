import { Button, Group } from '@mantine/core';
import { useIntersection } from '@mantine/hooks';
import { useEffect } from 'react';
import { ErrorText } from './states.tsx';

type MoreProps = {
  hasNextPage: boolean;
  isFetchingNextPage: boolean;
  isFetchNextPageError: boolean;
  isError: boolean;
  error: unknown;
  fetchNextPage: () => unknown;
};

/** Loads the next page of a list when its end is near the viewport, or by the button. After an error only by the button. */
export function LoadMore(query: MoreProps) {
  const { hasNextPage, isFetchingNextPage, isFetchNextPageError, isError, error, fetchNextPage } = query;
  const { ref, entry } = useIntersection({ rootMargin: '300px' });
  const isDue = entry?.isIntersecting === true && hasNextPage && !isFetchingNextPage && !isError;
  useEffect(() => {
    if (isDue) void fetchNextPage();
  }, [isDue, fetchNextPage]);
  if (!hasNextPage) return null;
  return (
    <Group ref={ref} justify="center" py="md">
      {isFetchNextPageError && !isFetchingNextPage ? <ErrorText error={error} /> : null}
      <Button variant="default" loading={isFetchingNextPage} onClick={() => void fetchNextPage()}>
        Show more
      </Button>
    </Group>
  );
}
