import { Button, Stack, TextInput } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { MAX_PROJECT_NAME_LENGTH } from '../../../src/domain/common/limits.ts';
import { projectPlan } from '../../../src/domain/people/project-plan.ts';
import { projectKeyFrom } from '../../../src/domain/common/text.ts';
import { unwrap, api } from '../../api/client.ts';
import { projectsQuery } from '../../api/projects.ts';
import { useSession } from '../../api/session.ts';
import { DataTable } from '../../components/data-table.tsx';
import { IconPlus } from '../../components/icons.tsx';
import { Id } from '../../components/id.tsx';
import { Page } from '../../components/page.tsx';
import { ListSkeleton } from '../../components/page-states.tsx';
import { ErrorState } from '../../components/states.tsx';
import { RelativeTime } from '../../components/time.tsx';
import { FormFooter } from '../../forms/form-footer.tsx';
import { useApiForm } from '../../forms/use-api-form.ts';
import { Dialog } from '../../components/dialog.tsx';

/** The page of projects. */
export function Projects() {
  const { isAtLeast } = useSession();
  const [isCreating, setIsCreating] = useState(false);
  const query = useQuery(projectsQuery);
  const button = isAtLeast('admin') ? (
    <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={() => setIsCreating(true)}>
      Create project
    </Button>
  ) : null;
  return (
    <Page title="Projects" lead="Each task and each API key belongs to one project." actions={button}>
      {query.isPending ? (
        <ListSkeleton rows={3} />
      ) : query.isError ? (
        <ErrorState
          title="The projects could not be loaded"
          error={query.error}
          onRetry={() => void query.refetch()}
        />
      ) : (
        <DataTable label="Projects" columns={['Name', 'Key', 'ID', 'Created']}>
          {query.data.map((project) => (
            <tr key={project.id}>
              <td>
                <strong>{project.name}</strong>
              </td>
              <td>
                <code>{project.key}</code>
              </td>
              <td>
                <Id value={project.id} label="project ID" />
              </td>
              <td>
                <RelativeTime at={project.created_at} />
              </td>
            </tr>
          ))}
        </DataTable>
      )}
      {isCreating ? <NewProject onClose={() => setIsCreating(false)} /> : null}
    </Page>
  );
}

function NewProject({ onClose }: { onClose: () => void }) {
  const queryClient = useQueryClient();
  const { form, problem, isSending, onSubmit } = useApiForm({
    initialValues: { name: '', key: '' },
    schema: projectPlan,
    bodyOf: ({ name, key }) => ({ name, ...(key === '' ? {} : { key }) }),
    send: (body) => unwrap(api.POST('/api/v1/projects', { body })),
    async onDone() {
      await queryClient.invalidateQueries({ queryKey: projectsQuery.queryKey });
      onClose();
    },
  });
  return (
    <Dialog opened onClose={onClose} title="New project">
      <form onSubmit={onSubmit} noValidate>
        <Stack gap="sm">
          <TextInput
            label="Name"
            required
            data-autofocus
            maxLength={MAX_PROJECT_NAME_LENGTH}
            {...form.getInputProps('name')}
          />
          <TextInput
            label="Key"
            description="Up to 10 capital letters and digits"
            placeholder={form.values.name ? projectKeyFrom(form.values.name) : ''}
            maxLength={10}
            {...form.getInputProps('key')}
          />
          <FormFooter submitLabel="Create project" isSending={isSending} problem={problem} />
        </Stack>
      </form>
    </Dialog>
  );
}
