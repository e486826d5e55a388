import { useForm } from '@mantine/form';
import { useMutation } from '@tanstack/react-query';
import type { ZodType } from 'zod';
import { sentenceOf } from '../components/states.tsx';
import { checked, refusedMembers } from './check.ts';

type Plan<Values, Body, Result> = {
  initialValues: Values;
  /** Judges the body, as the API will. */
  schema: ZodType;
  bodyOf: (values: Values) => Body;
  send: (body: Body) => Promise<Result>;
  /** What it gives back, if a promise, is waited for before the form is at rest again. */
  onDone: (result: Result, body: Body) => unknown;
  meta?: Record<string, unknown>;
};

/**
 * A form over a body of the API: judged by the API's own schema before it is sent, and told at its fields what the API
 * refuses. `problem` is what no field can say.
 */
export function useApiForm<Values extends Record<string, unknown>, Body, Result>(
  plan: Plan<Values, Body, Result>,
) {
  const form = useForm<Values>({
    initialValues: plan.initialValues,
    validate: (values) => checked(plan.schema, plan.bodyOf(values)),
  });
  const sending = useMutation({
    mutationFn: (body: Body) => plan.send(body),
    onSuccess: (result, body) => plan.onDone(result, body),
    onError: (error) => form.setErrors(refusedMembers(error)),
    ...(plan.meta ? { meta: plan.meta } : {}),
  });
  const shownAtFields = Object.keys(refusedMembers(sending.error)).filter((path) => path in form.values);
  const problem = sending.error && shownAtFields.length === 0 ? sentenceOf(sending.error) : null;
  return {
    form,
    problem,
    isSending: sending.isPending,
    onSubmit: form.onSubmit((values) => sending.mutate(plan.bodyOf(values))),
  };
}
