import { Button, Group, Stack, Text, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { unwrap, api } from '../../../api/client.ts';
import { Moment } from '../../../components/time.tsx';
import { CopyButton } from '../../../components/copy-button.tsx';
import { ErrorText } from '../../../components/states.tsx';
import { createRequestKeys } from '../../../forms/request-key.ts';
import { Callout } from '../parts/callout.tsx';
import { refreshWebhook, type Webhook } from '../parts/queries.ts';
import { Dialog } from '../../../components/dialog.tsx';

const OVERLAPS = [
  [24, '24 hours'],
  [1, '1 hour'],
  [72, '3 days'],
  [168, '7 days'],
  [0, 'None: the old secret stops working immediately'],
] as const;

type RotateProps = { webhook: Webhook; opened: boolean; onClose: () => void };

/** Rotates the secret of a webhook and shows the new one once. Both secrets sign during the overlap. */
export function RotateSecret({ webhook, opened, onClose }: RotateProps) {
  const client = useQueryClient();
  const [overlap, setOverlap] = useState<number>(OVERLAPS[0][0]);
  const [keyOf, setKeyOf] = useState(() => createRequestKeys());
  const rotate = useMutation({
    mutationFn() {
      const body = { overlap_hours: overlap };
      const params = { path: { id: webhook.id }, header: { 'Idempotency-Key': keyOf(body) } };
      return unwrap(api.POST('/api/v1/webhooks/{id}/rotate-secret', { params, body }));
    },
    // The secret does not wait for it.
    onSuccess: () => void refreshWebhook(client, webhook.id),
  });
  const close = () => {
    rotate.reset();
    setKeyOf(() => createRequestKeys());
    onClose();
  };
  return (
    <Dialog
      opened={opened}
      onClose={close}
      title={webhook.has_secret ? `Rotate secret of “${webhook.name}”` : `Add secret to “${webhook.name}”`}
      isPending={rotate.isPending}
      closeOnClickOutside={!rotate.isSuccess}
      centered
      size="lg"
    >
      {rotate.data ? (
        <NewSecret
          secret={rotate.data.secret ?? ''}
          until={rotate.data.previous_secret_until}
          onClose={close}
        />
      ) : (
        <Stack gap="md">
          <Text>
            Creates a new secret and shows it once.{' '}
            {webhook.has_secret
              ? 'During the overlap, deliveries are also signed with the old secret (X-Service-Signature-Previous). Update the receiver during this time.'
              : 'All deliveries will be signed from now on.'}
          </Text>
          {webhook.has_secret ? (
            <label>
              <Text span size="sm" mr={6}>
                Overlap
              </Text>
              <select
                className="plain-select"
                value={overlap}
                // A repeat with another overlap would be a second rotation, which ends the overlap with the old secret.
                disabled={!rotate.isIdle}
                onChange={(event) => setOverlap(Number(event.currentTarget.value))}
              >
                {OVERLAPS.map(([hours, words]) => (
                  <option key={hours} value={hours}>
                    {words}
                  </option>
                ))}
              </select>
            </label>
          ) : null}
          <ErrorText error={rotate.error} />
          <Group justify="flex-end" gap="xs">
            <Button variant="default" onClick={close} disabled={rotate.isPending}>
              Cancel
            </Button>
            <Button onClick={() => rotate.mutate()} loading={rotate.isPending}>
              {webhook.has_secret ? 'Rotate secret' : 'Add secret'}
            </Button>
          </Group>
        </Stack>
      )}
    </Dialog>
  );
}

function NewSecret({
  secret,
  until,
  onClose,
}: {
  secret: string;
  until: string | null;
  onClose: () => void;
}) {
  return (
    <Stack gap="md">
      <Callout tone="done" title="Secret created">
        Copy the secret now. It is shown only once.
      </Callout>
      <Group gap="xs" wrap="nowrap" align="flex-end">
        <TextInput
          label="New secret"
          readOnly
          value={secret}
          style={{ flex: 1 }}
          styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
          onFocus={(event) => event.currentTarget.select()}
        />
        <CopyButton value={secret} />
      </Group>
      {until ? (
        <Text size="sm">
          Deliveries are also signed with the old secret until <Moment at={until} />.
        </Text>
      ) : null}
      <Group justify="flex-end">
        <Button onClick={onClose}>Done</Button>
      </Group>
    </Stack>
  );
}
