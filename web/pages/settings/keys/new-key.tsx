import { Checkbox, NativeSelect, Stack, TextInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { MAX_KEY_NAME_LENGTH } from '../../../../src/domain/common/limits.ts';
import { SCOPES, WORKSPACE_SCOPES, type Scope } from '../../../../src/domain/people/access.ts';
import { DEFAULT_SCOPES, keyPlan } from '../../../../src/domain/people/key-plan.ts';
import { unwrap, api } from '../../../api/client.ts';
import { useProjects } from '../../../api/projects.ts';
import { ShownOnce } from '../../../components/shown-once.tsx';
import { createRequestKeys } from '../../../forms/request-key.ts';
import { FormFooter } from '../../../forms/form-footer.tsx';
import { useApiForm } from '../../../forms/use-api-form.ts';
import { useFirstProject } from '../../../forms/use-first-project.ts';
import { keysQuery } from './queries.ts';
import { Dialog } from '../../../components/dialog.tsx';

const SCOPE_LABELS: Readonly<Record<Scope, string>> = {
  'tasks:read': 'Read tasks of the project',
  'tasks:write': 'Submit, control and delete tasks of the project',
  'events:write': 'Send events',
  'webhooks:read': 'Read webhooks and their deliveries',
  'webhooks:write': 'Change webhooks and retry deliveries',
};

/** In days; empty means no expiration. */
const LIFETIMES = [
  { value: '', label: 'Never' },
  { value: '30', label: 'In 30 days' },
  { value: '90', label: 'In 90 days' },
  { value: '365', label: 'In 1 year' },
];
const DAY_MS = 86_400_000;

/** Creates a key and shows it once. */
export function NewKey({ onClose }: { onClose: () => void }) {
  const { projects } = useProjects();
  const queryClient = useQueryClient();
  const [keyOf] = useState(() => createRequestKeys());
  // A repeat must be the same request.
  const [openedAt] = useState(Date.now);
  const [createdKey, setCreatedKey] = useState<string | null>(null);
  const { form, problem, isSending, onSubmit } = useApiForm({
    initialValues: {
      name: '',
      project_id: '',
      scopes: [...DEFAULT_SCOPES] as Scope[],
      lifetime: '',
    },
    schema: keyPlan,
    bodyOf: ({ lifetime, ...body }) => ({
      ...body,
      ...(lifetime === ''
        ? {}
        : { expires_at: new Date(openedAt + Number(lifetime) * DAY_MS).toISOString() }),
    }),
    send: (body) =>
      unwrap(api.POST('/api/v1/keys', { params: { header: { 'Idempotency-Key': keyOf(body) } }, body })),
    onDone({ key }) {
      void queryClient.invalidateQueries({ queryKey: keysQuery.queryKey });
      setCreatedKey(key);
    },
  });
  useFirstProject(form);
  if (createdKey) return <CreatedKey apiKey={createdKey} onClose={onClose} />;
  return (
    <Dialog opened onClose={onClose} title="New key" isPending={isSending}>
      <form onSubmit={onSubmit} noValidate>
        <Stack gap="sm">
          <TextInput
            label="Name"
            description="The program that uses the key, for example “CI”"
            required
            data-autofocus
            maxLength={MAX_KEY_NAME_LENGTH}
            {...form.getInputProps('name')}
          />
          <NativeSelect
            label="Project"
            required
            data={projects.map(({ id, name }) => ({ value: id, label: name }))}
            {...form.getInputProps('project_id')}
          />
          <Checkbox.Group label="Scopes" {...form.getInputProps('scopes')}>
            <Stack gap="xs" mt={4}>
              {SCOPES.map((scope) => (
                <Checkbox
                  key={scope}
                  value={scope}
                  label={SCOPE_LABELS[scope]}
                  description={WORKSPACE_SCOPES.includes(scope) ? `${scope} (whole workspace)` : scope}
                />
              ))}
            </Stack>
          </Checkbox.Group>
          <NativeSelect label="Expiration" data={LIFETIMES} {...form.getInputProps('lifetime')} />
          <FormFooter submitLabel="Create key" isSending={isSending} problem={problem} />
        </Stack>
      </form>
    </Dialog>
  );
}

/** Shows a new key. */
export function CreatedKey({ apiKey, onClose }: { apiKey: string; onClose: () => void }) {
  return (
    <Dialog opened onClose={onClose} title="Key created" closeOnClickOutside={false}>
      <ShownOnce value={apiKey} label="API key">
        Copy the key now. It is shown only once. Send it in the <code>X-API-Key</code> header.
      </ShownOnce>
    </Dialog>
  );
}
