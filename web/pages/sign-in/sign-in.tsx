import { Button, Divider, Paper, PasswordInput, Stack, Text, TextInput, Title } from '@mantine/core';
import { useDocumentTitle } from '@mantine/hooks';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, useRouter } from '@tanstack/react-router';
import { useState, type SubmitEvent } from 'react';
import { SIGN_IN_PROBLEMS } from '../../../src/domain/people/sign-in-problems.ts';
import { unwrap, api } from '../../api/client.ts';
import { isSignedOut } from '../../api/problem.ts';
import { Banner } from '../../components/banner.tsx';
import { errorMessage } from '../../components/states.tsx';
import { useFocus } from '../../forms/use-focus.ts';
import { notifyTabs } from '../../routing/session-end.ts';
import classes from './sign-in.module.css';
import { pathAfterSignIn } from './path-after-sign-in.ts';
import { openIdSignInUrl, signInOptionsQuery } from './sign-in-options.ts';

const routeApi = getRouteApi('/sign-in');

/** The sign-in page. After the sign-in it opens the requested page. */
export function SignIn() {
  useDocumentTitle('Sign in · Baton');
  const { to, ended, problem } = routeApi.useSearch();
  const path = pathAfterSignIn(to, location.origin);
  const { data: options } = useQuery(signInOptionsQuery);
  return (
    <main className={classes['page']}>
      <Paper withBorder p="xl" radius="md" className={classes['card']}>
        <Stack gap="md">
          <Title order={1}>Sign in to Baton</Title>
          {ended ? (
            <Banner tone="held" title="Your session has ended">
              Sign in again to continue.
            </Banner>
          ) : null}
          {problem ? (
            <Banner tone="failed" title="Sign-in failed" urgent>
              {SIGN_IN_PROBLEMS[problem]}
            </Banner>
          ) : null}
          {options?.password === false ? null : <PasswordForm path={path} />}
          {options?.openid ? (
            <>
              {options.password ? <Divider label="or" /> : null}
              <Button component="a" href={openIdSignInUrl(path)} variant="default">
                Continue with {options.openid.name}
              </Button>
            </>
          ) : null}
        </Stack>
      </Paper>
    </main>
  );
}

function PasswordForm({ path }: { path: string }) {
  const [email, setEmail] = useState('');
  const [password, setPassword] = useState('');
  const signIn = useSignIn(path);
  const first = useFocus<HTMLInputElement>();

  function submit(event: SubmitEvent) {
    event.preventDefault();
    signIn.mutate({ email, password });
  }

  return (
    <form onSubmit={submit}>
      <Stack gap="sm">
        <TextInput
          ref={first}
          label="E-mail address"
          type="email"
          name="email"
          autoComplete="username"
          required
          withAsterisk={false}
          value={email}
          onChange={(event) => setEmail(event.currentTarget.value)}
        />
        <PasswordInput
          label="Password"
          name="password"
          autoComplete="current-password"
          required
          withAsterisk={false}
          value={password}
          onChange={(event) => setPassword(event.currentTarget.value)}
          visibilityToggleButtonProps={{ 'aria-label': 'Show or hide password' }}
        />
        {signIn.error ? (
          <Text role="alert" c="var(--mantine-color-error)" size="sm">
            {messageOf(signIn.error)}
          </Text>
        ) : null}
        <Button type="submit" loading={signIn.isPending}>
          Sign in
        </Button>
        <Text size="sm" c="dimmed">
          Forgot your password? Ask an admin of your workspace for a new one.
        </Text>
      </Stack>
    </form>
  );
}

function useSignIn(path: string) {
  const queryClient = useQueryClient();
  const router = useRouter();
  return useMutation({
    meta: { signsIn: true },
    mutationFn: (body: { email: string; password: string }) => unwrap(api.POST('/api/v1/session', { body })),
    async onSuccess() {
      queryClient.clear();
      notifyTabs('signed-in');
      router.history.replace(path);
    },
  });
}

function messageOf(error: unknown): string {
  return isSignedOut(error) ? 'Wrong e-mail address or password.' : errorMessage(error);
}
