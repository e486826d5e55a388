import { Button, Paper, PasswordInput, Skeleton, Stack, Text, TextInput, Title } from '@mantine/core';
import { useDocumentTitle } from '@mantine/hooks';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useRouter } from '@tanstack/react-router';
import { useState } from 'react';
import { newPerson } from '../../../src/domain/people/invitation.ts';
import { MIN_PASSWORD_LENGTH } from '../../../src/domain/common/limits.ts';
import { unwrap, api, type Schemas } from '../../api/client.ts';
import { notifyTabs } from '../../routing/session-end.ts';
import { ErrorState } from '../../components/states.tsx';
import { Waiting } from '../../components/waiting.tsx';
import { FormFooter } from '../../forms/form-footer.tsx';
import { useApiForm } from '../../forms/use-api-form.ts';
import { useFocus } from '../../forms/use-focus.ts';
import classes from '../sign-in/sign-in.module.css';
import { openIdSignInUrl } from '../sign-in/sign-in-options.ts';

type Invitation = Schemas['InvitationPreview'];

const visibilityToggle = { 'aria-label': 'Show or hide password' };

/** The page of an invitation link. */
export function InvitationPage() {
  useDocumentTitle('Invitation · Baton');
  const [token] = useState(() => location.hash.slice(1));
  const query = useQuery({
    queryKey: ['invitation', token],
    queryFn: () => unwrap(api.POST('/api/v1/invitations/look-up', { body: { token } })),
    retry: false,
    staleTime: Infinity,
  });
  return (
    <main className={classes['page']}>
      <Paper withBorder p="xl" radius="md" className={classes['card']}>
        {query.isPending ? (
          <Waiting>
            <Skeleton height={240} />
          </Waiting>
        ) : null}
        {query.isError ? (
          <ErrorState order={1} title="The invitation cannot be used" error={query.error}>
            <Button component={Link} to="/sign-in" variant="default">
              Sign in
            </Button>
          </ErrorState>
        ) : null}
        {query.data ? <Accept invitation={query.data} token={token} /> : null}
      </Paper>
    </main>
  );
}

function Accept({ invitation, token }: { invitation: Invitation; token: string }) {
  const { workspace, role, email, invited_by } = invitation;
  return (
    <Stack gap="md">
      <div>
        <Title order={1}>Join {workspace.name}</Title>
        <Text c="dimmed" size="sm">
          {invited_by ?? 'An admin'} invited {email} as {role}.
        </Text>
      </div>
      {invitation.account === 'openid' ? (
        <Button component="a" href={openIdSignInUrl('/')}>
          Sign in to accept
        </Button>
      ) : (
        <AcceptForm token={token} isNew={invitation.account === 'new'} />
      )}
    </Stack>
  );
}

function AcceptForm({ token, isNew }: { token: string; isNew: boolean }) {
  const queryClient = useQueryClient();
  const router = useRouter();
  const first = useFocus<HTMLInputElement>();
  const { form, problem, isSending, onSubmit } = useApiForm({
    initialValues: { name: '', password: '' },
    // An existing password may follow older rules.
    schema: isNew ? newPerson : newPerson.pick({}),
    bodyOf: ({ name, password }) => ({ ...(isNew ? { name } : {}), password }),
    send: (body) => unwrap(api.POST('/api/v1/invitations/accept', { body: { token, ...body } })),
    meta: { signsIn: true },
    onDone() {
      queryClient.clear();
      notifyTabs('signed-in');
      router.history.replace('/orchestration');
    },
  });
  return (
    <form onSubmit={onSubmit} noValidate>
      <Stack gap="sm">
        {isNew ? (
          <TextInput ref={first} label="Your name" autoComplete="name" {...form.getInputProps('name')} />
        ) : null}
        <PasswordInput
          ref={isNew ? null : first}
          label="Password"
          description={
            isNew ? `At least ${MIN_PASSWORD_LENGTH} characters` : 'The password of your existing account'
          }
          autoComplete={isNew ? 'new-password' : 'current-password'}
          visibilityToggleButtonProps={visibilityToggle}
          {...form.getInputProps('password')}
        />
        <FormFooter submitLabel="Join" isSending={isSending} problem={problem} />
      </Stack>
    </form>
  );
}
