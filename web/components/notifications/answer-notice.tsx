import { useMutation, useQueryClient } from '@tanstack/react-query';
import { MAX_REASON_LENGTH } from '../../../src/domain/common/limits.ts';
import { unwrap, api } from '../../api/client.ts';
import { AnswerForm } from '../answer-form.tsx';

type AnswerNoticeProps = { executionId: string; question: string; onDone: () => void };

/** The form that answers the question of a run in its notification. `question` is the id of the question. */
export function AnswerNotice({ executionId, question, onDone }: AnswerNoticeProps) {
  const client = useQueryClient();
  const answer = useMutation({
    mutationFn: (reason: string) =>
      unwrap(
        api.POST('/api/v1/tasks/{execution_id}/continue', {
          params: { path: { execution_id: executionId } },
          body: { reason, question },
        }),
      ),
    onSuccess: onDone,
    onSettled: () => {
      for (const queryKey of [['notices'], ['runs'], ['run', executionId]])
        void client.invalidateQueries({ queryKey });
    },
  });
  return (
    <AnswerForm
      hasFocus
      submitLabel="Answer and continue"
      maxLength={MAX_REASON_LENGTH}
      onSubmit={(reason) => answer.mutate(reason)}
      isPending={answer.isPending}
      error={answer.error}
    />
  );
}
