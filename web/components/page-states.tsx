import { Anchor, Box, Skeleton, Stack } from '@mantine/core';
import { Link, useRouter, type ErrorComponentProps } from '@tanstack/react-router';
import { EmptyState, ErrorState } from './states.tsx';
import { Page } from './page.tsx';
import { Waiting } from './waiting.tsx';

/** The page for unknown addresses. */
export function NotFound() {
  return (
    <Page title="Page not found">
      <EmptyState
        title="No page at this address"
        action={
          <Anchor component={Link} to="/orchestration">
            Show all runs
          </Anchor>
        }
      >
        Check the address. The item may have been deleted.
      </EmptyState>
    </Page>
  );
}

/** The page for errors while a page loads or renders. */
export function PageError({ error, reset }: ErrorComponentProps) {
  const router = useRouter();
  const retry = () => {
    reset();
    void router.invalidate();
  };
  return <ErrorState order={1} title="The page could not be loaded" error={error} onRetry={retry} />;
}

/** `NotFound` without the navigation around it. */
export function StandaloneNotFound() {
  return (
    <Box component="main" p="md">
      <NotFound />
    </Box>
  );
}

/** `PageError` without the navigation around it. */
export function StandalonePageError(props: ErrorComponentProps) {
  return (
    <Box component="main" p="md">
      <PageError {...props} />
    </Box>
  );
}

/** The placeholder while a page or the session loads. */
export function PageSkeleton() {
  return (
    <Stack gap="md" p="md" aria-busy="true" aria-label="Loading">
      <Skeleton height={32} width={220} />
      <ListSkeleton />
    </Stack>
  );
}

/** Placeholder rows while a list loads, then a message. */
export function ListSkeleton({ rows = 6, height = 44 }: { rows?: number; height?: number }) {
  return (
    <Waiting>
      <Stack gap="xs">
        {Array.from({ length: rows }, (_, index) => (
          <Skeleton key={index} height={height} radius="md" />
        ))}
      </Stack>
    </Waiting>
  );
}
