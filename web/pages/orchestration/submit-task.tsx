import {
  Anchor,
  Button,
  Code,
  Group,
  Input,
  NativeSelect,
  SegmentedControl,
  SimpleGrid,
  Stack,
  Text,
  Textarea,
  TextInput,
} from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect, useRef, useState } from 'react';
import {
  MAX_DESCRIPTION_LENGTH,
  MAX_METADATA_BYTES,
  MAX_TITLE_LENGTH,
  MAX_URL_LENGTH,
} from '../../../src/domain/common/limits.ts';
import { DEFAULT_TASK_TYPE, TASK_TYPES, type TaskType } from '../../../src/domain/tasks/task-run.ts';
import { submission } from '../../../src/domain/tasks/task-submission.ts';
import { unwrap, api, type Schemas } from '../../api/client.ts';
import { useProjects } from '../../api/projects.ts';
import { createOneAtATime } from '../../forms/one-at-a-time.ts';
import { createRequestKeys } from '../../forms/request-key.ts';
import { DiscardChanges } from '../../forms/unsaved-changes.tsx';
import { useFirstProject } from '../../forms/use-first-project.ts';
import { CopyButton } from '../../components/copy-button.tsx';
import { ErrorText } from '../../components/states.tsx';
import { validate, serverErrors, type FormErrors } from '../../forms/validate.ts';
import { asCurl } from './as-curl.ts';
import { Dialog } from '../../components/dialog.tsx';

type Submitted = Schemas['TaskSubmitted'];
type Values = {
  title: string;
  description: string;
  project_id: string;
  task_type: TaskType;
  callback_url: string;
  metadata: string;
};

type SubmitProps = { onClose: () => void; onWatch: (executionId: string) => void };

/** The form of a task; then the callback secret. */
export function SubmitTask({ onClose, onWatch }: SubmitProps) {
  const [done, setDone] = useState<Submitted | null>(null);
  const watch = (executionId: string) => {
    onClose();
    onWatch(executionId);
  };
  const [hasCallback, setHasCallback] = useState(false);
  // No state: Escape right after the first character must find it, and not the value of the last rendering.
  const isChanged = useRef(false);
  const setChanged = useCallback((changed: boolean) => void (isChanged.current = changed), []);
  const [isPending, setIsPending] = useState(false);
  const [isLeaving, setIsLeaving] = useState(false);
  const close = () => {
    if (!isChanged.current || done) onClose();
    // After the event: otherwise the same Escape would close the question.
    else setTimeout(() => setIsLeaving(true));
  };
  return (
    <Dialog
      opened
      onClose={close}
      closeOnEscape={!isLeaving}
      closeOnClickOutside={!done}
      isPending={isPending && !done}
      title={done ? 'Task submitted' : 'Submit task'}
      size="lg"
    >
      {done ? (
        <Submission submitted={done} hasCallback={hasCallback} onWatch={watch} />
      ) : (
        <SubmitForm
          onChanged={setChanged}
          onPending={setIsPending}
          onDone={(submitted, body) => {
            setHasCallback(body.callback_url !== undefined);
            // Without a callback there is no secret to copy: open the run.
            if (body.callback_url === undefined) watch(submitted.execution_id);
            else setDone(submitted);
          }}
        />
      )}
      <DiscardChanges opened={isLeaving} onKeep={() => setIsLeaving(false)} onDiscard={onClose} />
    </Dialog>
  );
}

type Body = Schemas['TaskSubmission'];

type FormProps = {
  /** Called with whether a text was entered that closing the dialog would discard. */
  onChanged: (isChanged: boolean) => void;
  /** Called with whether the task is being submitted. */
  onPending: (isPending: boolean) => void;
  onDone: (submitted: Submitted, body: Body) => void;
};

function SubmitForm({ onChanged, onPending, onDone }: FormProps) {
  const { projects } = useProjects();
  const queryClient = useQueryClient();
  const form = useForm<Values>({
    initialValues: {
      title: '',
      description: '',
      project_id: '',
      task_type: DEFAULT_TASK_TYPE,
      callback_url: '',
      metadata: '',
    },
    validate: problemsOf,
  });
  useFirstProject(form);
  const [keyOf] = useState(createRequestKeys);
  const [submitOnce] = useState(createOneAtATime);
  const isChanged = hasText(form.values);
  useEffect(() => onChanged(isChanged), [isChanged, onChanged]);
  const submit = useMutation({
    mutationFn: (body: Body) =>
      unwrap(api.POST('/api/v1/tasks', { params: { header: { 'Idempotency-Key': keyOf(body) } }, body })),
    onSuccess(submitted, body) {
      void queryClient.invalidateQueries({ queryKey: ['runs'] });
      onDone(submitted, body);
    },
    onError: (error) => form.setErrors(serverErrors(error)),
  });
  useEffect(() => onPending(submit.isPending), [submit.isPending, onPending]);
  const isForField = submit.error !== null && Object.keys(serverErrors(submit.error)).length > 0;

  return (
    <form
      onSubmit={form.onSubmit((values) => submitOnce(() => submit.mutateAsync(bodyOf(values) as Body)))}
      noValidate
    >
      <Stack gap="sm">
        <TextInput
          label="Title"
          data-autofocus
          required
          maxLength={MAX_TITLE_LENGTH}
          {...form.getInputProps('title')}
        />
        <Textarea
          label="Description"
          description={`Instructions for the agents, up to ${MAX_DESCRIPTION_LENGTH.toLocaleString('en')} characters`}
          autosize
          minRows={3}
          maxRows={14}
          {...form.getInputProps('description')}
        />
        <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm">
          <NativeSelect
            label="Project"
            required
            data={projects.map(({ id, name }) => ({ value: id, label: name }))}
            {...form.getInputProps('project_id')}
          />
          <div>
            <Input.Label labelElement="div" id="task-type">
              Type
            </Input.Label>
            <SegmentedControl
              aria-labelledby="task-type"
              data={[...TASK_TYPES]}
              fullWidth
              {...form.getInputProps('task_type')}
            />
          </div>
        </SimpleGrid>
        <TextInput
          label="Callback URL"
          description="HTTPS URL that receives the signed result"
          placeholder="https://"
          maxLength={MAX_URL_LENGTH}
          {...form.getInputProps('callback_url')}
        />
        <Textarea
          label="Metadata"
          description={
            <>
              {`JSON object, up to ${MAX_METADATA_BYTES / 1024} KiB. Add "rehearsal": { "step_ms": 5000 } to simulate the run. `}
              <Anchor inherit underline="always" href="/docs/agents.md#rehearsal" target="_blank">
                All rehearsal fields
              </Anchor>
            </>
          }
          placeholder='{ "order": "A-17" }'
          autosize
          minRows={2}
          maxRows={10}
          ff="monospace"
          {...form.getInputProps('metadata')}
        />
        {submit.error && !isForField ? <ErrorText error={submit.error} /> : null}
        <Group justify="space-between">
          <CopyButton value={asCurl(location.origin, bodyOf(form.values))} label="Copy as curl" />
          <Button type="submit" loading={submit.isPending}>
            Submit task
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

function Submission({
  submitted,
  hasCallback,
  onWatch,
}: {
  submitted: Submitted;
  hasCallback: boolean;
  onWatch: (id: string) => void;
}) {
  return (
    <Stack gap="sm">
      {hasCallback ? (
        <>
          <Text>
            Copy the callback secret now. It is shown only once. Your receiver uses it to verify the{' '}
            <Code>X-Service-Signature</Code> header.
          </Text>
          <Group gap="xs" wrap="nowrap">
            <Code
              block
              style={{ overflowWrap: 'anywhere', whiteSpace: 'pre-wrap' }}
              aria-label="Callback secret"
            >
              {submitted.callback_secret}
            </Code>
            <CopyButton value={submitted.callback_secret} label="Copy" />
          </Group>
        </>
      ) : null}
      <Group justify="flex-end">
        <Button onClick={() => onWatch(submitted.execution_id)}>Open run</Button>
      </Group>
    </Stack>
  );
}

function hasText({ title, description, callback_url, metadata }: Values): boolean {
  return [title, description, callback_url, metadata].some((text) => text.trim() !== '');
}

/** Validates with the schema of the API. Reports metadata that is not valid JSON first. */
function problemsOf(values: Values): FormErrors {
  const body = bodyOf(values);
  const problems = validate(submission, body);
  if (typeof body['metadata'] === 'string') return { ...problems, metadata: 'Must be a JSON object' };
  // A problem inside the metadata is shown at its field.
  return Object.fromEntries(
    Object.entries(problems).map(([path, words]) =>
      path.startsWith('metadata.')
        ? ['metadata', `${path.slice('metadata.'.length)} ${words.charAt(0).toLowerCase()}${words.slice(1)}`]
        : [path, words],
    ),
  );
}

function bodyOf({
  title,
  description,
  project_id,
  task_type,
  callback_url,
  metadata,
}: Values): Record<string, unknown> {
  return {
    title,
    ...(description === '' ? {} : { description }),
    project_id,
    task_type,
    ...(callback_url === '' ? {} : { callback_url }),
    ...(metadata.trim() === '' ? {} : { metadata: parsed(metadata) }),
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
