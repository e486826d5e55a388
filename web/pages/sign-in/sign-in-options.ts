import { queryOptions } from '@tanstack/react-query';

/** How one may sign in here. */
type SignInOptions = { password: boolean; openid: { name: string } | null };

const PASSWORD_ALONE: SignInOptions = { password: true, openid: null };

/** What the service offers; a password alone where it does not say. */
export const signInOptionsQuery = queryOptions({
  queryKey: ['sign-in-options'],
  async queryFn({ signal }): Promise<SignInOptions> {
    const response = await fetch('/api/v1/sign-in-options', { signal });
    return response.ok ? ((await response.json()) as SignInOptions) : PASSWORD_ALONE;
  },
  staleTime: Infinity,
});

/** Where a sign-in with the identity provider begins. */
export function openIdAddress(place: string): string {
  return `/api/v1/openid/sign-in?${new URLSearchParams({ to: place }).toString()}`;
}
