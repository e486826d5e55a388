import { Checkbox, Modal, Select, Stack, TextInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { SCOPES, WORKSPACE_SCOPES, type Scope } from '../../../../src/domain/people/access.ts';
import { DEFAULT_SCOPES, keyPlan } from '../../../../src/domain/people/key-plan.ts';
import { answered, api } from '../../../api/client.ts';
import { useProjects } from '../../../api/projects.ts';
import { ShownOnce } from '../../../components/shown-once.tsx';
import { FormFoot } from '../../../forms/form-foot.tsx';
import { useApiForm } from '../../../forms/use-api-form.ts';
import { keysQuery } from './queries.ts';

const SCOPE_WORDS: Readonly<Record<Scope, string>> = {
  'tasks:read': 'read tasks of the project',
  'tasks:write': 'submit and steer tasks of the project',
  'events:write': 'send events',
  'webhooks:read': 'read webhooks and their deliveries',
  'webhooks:write': 'change webhooks, send again',
};

/** In days; an empty text is for ever. */
const LIFETIMES = [
  { value: '', label: 'never' },
  { value: '30', label: 'in 30 days' },
  { value: '90', label: 'in 90 days' },
  { value: '365', label: 'in a year' },
];
const DAY_MS = 86_400_000;

/** Makes a key, and shows it once. */
export function NewKey({ onClose }: { onClose: () => void }) {
  const { projects } = useProjects();
  const queryClient = useQueryClient();
  const [made, setMade] = useState<string | null>(null);
  const { form, problem, isSending, onSubmit } = useApiForm({
    initialValues: {
      name: '',
      project_id: projects[0]?.id ?? '',
      scopes: [...DEFAULT_SCOPES] as Scope[],
      lifetime: '',
    },
    schema: keyPlan,
    bodyOf: ({ lifetime, ...body }) => ({
      ...body,
      ...(lifetime === ''
        ? {}
        : { expires_at: new Date(Date.now() + Number(lifetime) * DAY_MS).toISOString() }),
    }),
    send: (body) => answered(api.POST('/api/v1/keys', { body })),
    onDone({ key }) {
      void queryClient.invalidateQueries({ queryKey: keysQuery.queryKey });
      setMade(key);
    },
  });
  if (made) return <NewKeyShown apiKey={made} onClose={onClose} />;
  return (
    <Modal opened onClose={onClose} title="New key" closeButtonProps={{ 'aria-label': 'Close' }}>
      <form onSubmit={onSubmit} noValidate>
        <Stack gap="sm">
          <TextInput
            label="Name"
            description="What calls with it, for example “CI”"
            required
            data-autofocus
            maxLength={200}
            {...form.getInputProps('name')}
          />
          <Select
            label="Project"
            required
            allowDeselect={false}
            data={projects.map(({ id, name }) => ({ value: id, label: name }))}
            {...form.getInputProps('project_id')}
          />
          <Checkbox.Group label="It may" {...form.getInputProps('scopes')}>
            <Stack gap="xs" mt={4}>
              {SCOPES.map((scope) => (
                <Checkbox
                  key={scope}
                  value={scope}
                  label={SCOPE_WORDS[scope]}
                  description={WORKSPACE_SCOPES.includes(scope) ? `${scope}, in the whole workspace` : scope}
                />
              ))}
            </Stack>
          </Checkbox.Group>
          <Select
            label="It expires"
            allowDeselect={false}
            data={LIFETIMES}
            {...form.getInputProps('lifetime')}
          />
          <FormFoot act="Make the key" isSending={isSending} problem={problem} />
        </Stack>
      </form>
    </Modal>
  );
}

/** A key that was made this moment. */
export function NewKeyShown({ apiKey, onClose }: { apiKey: string; onClose: () => void }) {
  return (
    <Modal opened onClose={onClose} title="The key was made" closeButtonProps={{ 'aria-label': 'Close' }}>
      <ShownOnce value={apiKey} label="API key">
        Copy it now: it is shown this once. It goes into the header <code>X-API-Key</code>.
      </ShownOnce>
    </Modal>
  );
}
