import { notifications } from '@mantine/notifications';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { unwrap, api } from '../../api/client.ts';
import { errorMessage } from '../../components/states.tsx';
import { runQuery } from './queries.ts';

export type ControlAction = 'pause' | 'continue' | 'cancel';

/** `question` is the id of the question that continuing answers. */
type ControlRequest = { action: ControlAction; reason?: string; question?: string | undefined };

/** Pauses, continues or cancels a run, and shows its new state immediately. */
export function useRunControl(executionId: string, onDone: () => void = () => {}) {
  const queryClient = useQueryClient();
  const params = { path: { execution_id: executionId } };
  return useMutation({
    mutationFn: ({ action, reason, question }: ControlRequest) => {
      const body = { ...(reason ? { reason } : {}), ...(question === undefined ? {} : { question }) };
      return unwrap(api.POST(`/api/v1/tasks/{execution_id}/${action}`, { params, body }));
    },
    onSuccess(run) {
      queryClient.setQueryData(runQuery(executionId).queryKey, run);
      void queryClient.invalidateQueries({ queryKey: ['runs'] });
      void queryClient.invalidateQueries({ queryKey: ['notices'] });
      onDone();
    },
    onError(error, { action, reason }) {
      void queryClient.invalidateQueries({ queryKey: ['run', executionId] });
      // A dialog shows its own errors.
      if (action !== 'continue' || reason !== undefined) return;
      notifications.show({
        color: 'red',
        title: 'The run could not be continued',
        message: errorMessage(error),
      });
    },
  });
}
