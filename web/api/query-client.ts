import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query';
import { isTransient, isSignedOut } from './problem.ts';

const TRIES = 2;

/**
 * The cache of answers. What fails for a passing reason is tried again; an answer that says that nobody is signed in
 * is told to `onSignedOut`, wherever it came up.
 */
export function createQueryClient(onSignedOut: () => void): QueryClient {
  const onError = (error: unknown) => {
    if (isSignedOut(error)) onSignedOut();
  };
  return new QueryClient({
    queryCache: new QueryCache({ onError }),
    mutationCache: new MutationCache({
      onError: (error, _variables, _result, mutation) => {
        // A wrong password is no session that ended.
        if (mutation.meta?.['signsIn'] !== true) onError(error);
      },
    }),
    defaultOptions: {
      queries: {
        staleTime: 2_000,
        retry: (failures, error) => failures < TRIES && isTransient(error),
        retryDelay: (failures) => 500 * 2 ** failures,
      },
      mutations: { retry: false },
    },
  });
}
