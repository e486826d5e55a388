import { Button, Group, Stack } from '@mantine/core';
import { skipToken, useQuery, useQueryClient, type QueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { ShownOnce } from '../../../components/shown-once.tsx';
import { Banner } from '../../../components/banner.tsx';
import { VerificationCode } from './verification-code.tsx';

const queryKeyOf = (webhookId: string) => ['saved-secret', webhookId];

/** Keeps a generated secret for the page of its webhook, which shows it once more. */
export function keepSecret(client: QueryClient, webhookId: string, secret: string): void {
  client.setQueryData(queryKeyOf(webhookId), secret);
}

/** Shows the secret that the form has just saved, until the user dismisses it or leaves the page. */
export function SavedSecret({ webhookId }: { webhookId: string }) {
  const client = useQueryClient();
  const { data: secret } = useQuery<string | null>({
    queryKey: queryKeyOf(webhookId),
    queryFn: skipToken,
    staleTime: Infinity,
  });
  useEffect(() => () => client.removeQueries({ queryKey: queryKeyOf(webhookId) }), [client, webhookId]);
  if (!secret) return null;
  return (
    <Banner tone="held" title="Copy the secret" label="Secret">
      <Stack gap="xs">
        <ShownOnce value={secret} label="New secret">
          Your receiver needs it to verify signatures. It is not shown again.
        </ShownOnce>
        <VerificationCode />
        <Group justify="flex-end">
          <Button size="xs" onClick={() => client.setQueryData(queryKeyOf(webhookId), null)}>
            Done
          </Button>
        </Group>
      </Stack>
    </Banner>
  );
}
