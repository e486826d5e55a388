import { Button, Group, NumberInput, Stack, Text } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { MAX_KEY_OVERLAP_HOURS } from '../../../../src/domain/common/limits.ts';
import { unwrap, api } from '../../../api/client.ts';
import { useProjects } from '../../../api/projects.ts';
import { Confirm } from '../../../components/confirm.tsx';
import { DataTable } from '../../../components/data-table.tsx';
import { useNow } from '../../../components/now.ts';
import { Status } from '../../../components/status.tsx';
import { RelativeTime } from '../../../components/time.tsx';
import { createRequestKeys } from '../../../forms/request-key.ts';
import { CreatedKey } from './new-key.tsx';
import { OVERLAP_ERROR, overlapHoursOf } from './overlap.ts';
import { keysQuery, keyStatus, type Key } from './queries.ts';

/** The default overlap of a rotated key in hours. */
const OVERLAP_HOURS = 24;

type Action = 'rotate' | 'revoke';

/** The table of keys. Active keys can be rotated and revoked, replaced ones can be revoked while they are valid. */
export function KeyTable({ keys }: { keys: readonly Key[] }) {
  const now = useNow();
  const { nameOf } = useProjects();
  const [dialog, setDialog] = useState<{ key: Key; action: Action } | null>(null);
  return (
    <>
      <DataTable
        label="API keys"
        columns={['Name', 'Key', 'Project', 'Scopes', 'Last used', 'Created', 'Status', '(Actions)']}
      >
        {keys.map((key) => (
          <tr key={key.id}>
            <td>
              <strong>{key.name}</strong>
            </td>
            <td>
              <code>{key.prefix}…</code>
            </td>
            <td>{nameOf(key.project_id)}</td>
            <td>{key.scopes.join(', ')}</td>
            <td>{key.last_used_at ? <RelativeTime at={key.last_used_at} /> : 'never'}</td>
            <td>
              <RelativeTime at={key.created_at} />
              {key.creator ? <Creator creator={key.creator} /> : null}
            </td>
            <td>
              <KeyStatus keyRow={key} now={now} />
            </td>
            <td>
              <KeyActions status={keyStatus(key, now)} onAction={(action) => setDialog({ key, action })} />
            </td>
          </tr>
        ))}
      </DataTable>
      {dialog?.action === 'revoke' ? <Revoke apiKey={dialog.key} onClose={() => setDialog(null)} /> : null}
      {dialog?.action === 'rotate' ? <Rotate apiKey={dialog.key} onClose={() => setDialog(null)} /> : null}
    </>
  );
}

function KeyActions({
  status,
  onAction,
}: {
  status: ReturnType<typeof keyStatus>;
  onAction: (action: Action) => void;
}) {
  if (status !== 'active' && status !== 'replaced') return null;
  return (
    <Group gap="xs" wrap="nowrap">
      {status === 'active' ? (
        <Button size="compact-sm" variant="default" onClick={() => onAction('rotate')}>
          Rotate…
        </Button>
      ) : null}
      <Button size="compact-sm" variant="default" onClick={() => onAction('revoke')}>
        Revoke…
      </Button>
    </Group>
  );
}

function Creator({ creator }: { creator: NonNullable<Key['creator']> }) {
  return (
    <Text size="sm" title={creator.email}>
      by {creator.name}
      {creator.removed ? ' (removed)' : ''}
    </Text>
  );
}

function KeyStatus({ keyRow, now }: { keyRow: Key; now: number }) {
  const status = keyStatus(keyRow, now);
  if (status === 'active') {
    return keyRow.expires_at ? (
      <>
        <Status status="active" />, expires <RelativeTime at={keyRow.expires_at} isAhead />
      </>
    ) : (
      <Status status="active" />
    );
  }
  if (status === 'replaced') {
    return (
      <>
        <Status status="retrying">replaced</Status>
        {keyRow.expires_at ? (
          <>
            , expires <RelativeTime at={keyRow.expires_at} isAhead />
          </>
        ) : null}
      </>
    );
  }
  return <Status status="inactive">{status}</Status>;
}

function Revoke({ apiKey, onClose }: { apiKey: Key; onClose: () => void }) {
  const queryClient = useQueryClient();
  const revoke = useMutation({
    mutationFn: () => unwrap(api.DELETE('/api/v1/keys/{id}', { params: { path: { id: apiKey.id } } })),
    async onSuccess() {
      await queryClient.invalidateQueries({ queryKey: keysQuery.queryKey });
      onClose();
    },
  });
  return (
    <Confirm
      opened
      onClose={onClose}
      title={`Revoke “${apiKey.name}”?`}
      confirmLabel="Revoke key"
      isDestructive
      onConfirm={() => revoke.mutate()}
      isPending={revoke.isPending}
      error={revoke.error}
    >
      {apiKey.last_used_at ? (
        <Text size="sm">
          The key {apiKey.prefix}… stops working immediately. This cannot be undone. Last used{' '}
          <RelativeTime at={apiKey.last_used_at} />.
        </Text>
      ) : (
        'The key was never used. It stops working immediately. This cannot be undone.'
      )}
    </Confirm>
  );
}

function Rotate({ apiKey, onClose }: { apiKey: Key; onClose: () => void }) {
  const queryClient = useQueryClient();
  const [given, setGiven] = useState<number | string>(OVERLAP_HOURS);
  const [keyOf] = useState(() => createRequestKeys());
  const hours = overlapHoursOf(given);
  const rotate = useMutation({
    mutationFn(overlap_hours: number) {
      const body = { overlap_hours };
      const params = { path: { id: apiKey.id }, header: { 'Idempotency-Key': keyOf(body) } };
      return unwrap(api.POST('/api/v1/keys/{id}/rotate', { params, body }));
    },
    // The new key does not wait for it.
    onSuccess: () => void queryClient.invalidateQueries({ queryKey: keysQuery.queryKey }),
  });
  if (rotate.data) return <CreatedKey apiKey={rotate.data.key} onClose={onClose} />;
  return (
    <Confirm
      opened
      onClose={onClose}
      title={`Rotate “${apiKey.name}”?`}
      confirmLabel="Rotate key"
      onConfirm={() => hours === null || rotate.mutate(hours)}
      isPending={rotate.isPending}
      error={rotate.error}
    >
      <Stack gap="sm">
        <Text size="sm">
          Creates a new key with the same project, scopes and expiration. The old key, {apiKey.prefix}…, stays
          valid during the overlap, so that you can replace it without downtime.
        </Text>
        <NumberInput
          label="Overlap in hours"
          min={0}
          max={MAX_KEY_OVERLAP_HOURS}
          clampBehavior="none"
          value={given}
          // A repeat with another overlap would be refused, because the key is replaced already.
          disabled={!rotate.isIdle}
          error={hours === null ? OVERLAP_ERROR : null}
          onChange={setGiven}
        />
      </Stack>
    </Confirm>
  );
}
