import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query';
import { recordConnection } from './connection.ts';
import { isTransient, isSignedOut, Unreachable } from './problem.ts';

const TRIES = 2;

/**
 * Creates the cache of API responses. Retries transient errors. Calls `onSignedOut` when any request finds that the
 * session has ended.
 */
export function createQueryClient(onSignedOut: () => void): QueryClient {
  const onError = (error: unknown) => {
    if (isSignedOut(error)) onSignedOut();
  };
  return new QueryClient({
    queryCache: new QueryCache({
      onSuccess: () => recordConnection({ type: 'data', at: Date.now() }),
      onError(error) {
        recordConnection({ type: error instanceof Unreachable ? 'silence' : 'problem' });
        onError(error);
      },
    }),
    mutationCache: new MutationCache({
      onError: (error, _variables, _result, mutation) => {
        // A wrong password does not mean that a session ended.
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
