import { useForm } from '@mantine/form';
import { useMutation } from '@tanstack/react-query';
import type { ZodType } from 'zod';
import { errorMessage } from '../components/states.tsx';
import { validate, serverErrors } from './validate.ts';

type Options<Values, Body, Result> = {
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
  options: Options<Values, Body, Result>,
) {
  const form = useForm<Values>({
    initialValues: options.initialValues,
    validate: (values) => validate(options.schema, options.bodyOf(values)),
  });
  const sending = useMutation({
    mutationFn: (body: Body) => options.send(body),
    onSuccess: (result, body) => options.onDone(result, body),
    onError: (error) => form.setErrors(serverErrors(error)),
    ...(options.meta ? { meta: options.meta } : {}),
  });
  const shownAtFields = Object.keys(serverErrors(sending.error)).filter((path) => path in form.values);
  const problem = sending.error && shownAtFields.length === 0 ? errorMessage(sending.error) : null;
  return {
    form,
    problem,
    isSending: sending.isPending,
    onSubmit: form.onSubmit((values) => sending.mutate(options.bodyOf(values))),
  };
}
