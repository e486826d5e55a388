import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { unwrap, api } from '../../api/client.ts';
import { createRequestKeys } from '../../forms/request-key.ts';
import { runQuery, type Run } from './queries.ts';

/** Where a rerun starts; by default from the first incomplete step. `answer`: to the escalation of the run. */
export type RerunRequest = { from_step?: string; answer?: string };

/**
 * Reruns an ended run. Opens the new run, unless it has a callback: its secret must be copied before the page changes.
 * `open` then opens the run.
 */
export function useRerun({ execution_id, callback }: Run) {
  const queryClient = useQueryClient();
  const navigate = useNavigate();
  const [keyOf] = useState(() => createRequestKeys());
  const open = (executionId: string) =>
    void navigate({ to: '/orchestration/$executionId', params: { executionId } });
  const rerun = useMutation({
    mutationFn: (body: RerunRequest) =>
      unwrap(
        api.POST('/api/v1/tasks/{execution_id}/rerun', {
          params: { path: { execution_id }, header: { 'Idempotency-Key': keyOf(body) } },
          body,
        }),
      ),
    onSuccess(started) {
      void queryClient.invalidateQueries({ queryKey: ['runs'] });
      void queryClient.invalidateQueries({ queryKey: ['notices'] });
      void queryClient.invalidateQueries({ queryKey: runQuery(execution_id).queryKey, exact: true });
      if (callback.url === null) open(started.execution_id);
    },
  });
  return { ...rerun, open };
}
