import { notifications } from '@mantine/notifications';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { answered, api } from '../../api/client.ts';
import { sentenceOf } from '../../components/states.tsx';
import { runQuery } from './queries.ts';

export type Steering = 'pause' | 'continue' | 'cancel';

/** Pauses, continues or cancels a run; what it looks like then is shown at once. */
export function useSteer(executionId: string, onDone: () => void = () => {}) {
  const queryClient = useQueryClient();
  const params = { path: { execution_id: executionId } };
  return useMutation({
    mutationFn: ({ steering, reason }: { steering: Steering; reason?: string }) =>
      answered(
        api.POST(`/api/v1/tasks/{execution_id}/${steering}`, { params, body: reason ? { reason } : {} }),
      ),
    onSuccess(run) {
      queryClient.setQueryData(runQuery(executionId).queryKey, run);
      void queryClient.invalidateQueries({ queryKey: ['runs'] });
      onDone();
    },
    onError(error, { steering, reason }) {
      void queryClient.invalidateQueries({ queryKey: ['run', executionId] });
      // Where something was asked before, it is told there.
      if (steering !== 'continue' || reason !== undefined) return;
      notifications.show({
        color: 'red',
        title: 'The run could not be continued',
        message: sentenceOf(error),
      });
    },
  });
}
