import { useForm } from '@mantine/form';
import { useMutation } from '@tanstack/react-query';
import type { ZodType } from 'zod';
import { errorMessage } from '../components/states.tsx';
import { validate, serverErrors } from './validate.ts';

type Options<Values, Body, Result> = {
  initialValues: Values;
  /** Validates the body, like the API. */
  schema: ZodType;
  bodyOf: (values: Values) => Body;
  send: (body: Body) => Promise<Result>;
  /** The form stays pending until a returned promise resolves. */
  onDone: (result: Result, body: Body) => unknown;
  meta?: Record<string, unknown>;
};

/**
 * Creates a form for a request body. Validates it with the schema of the API, and shows validation errors of the
 * response at their fields. `problem` is the message of an error that belongs to no field.
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
