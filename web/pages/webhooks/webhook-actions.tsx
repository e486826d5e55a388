import { ActionIcon, Button, Menu } from '@mantine/core';
import { IconDots, IconKey, IconPencil, IconPower, IconSend, IconTrash } from '@tabler/icons-react';
import { useState } from 'react';
import { ButtonLink } from '../../components/button-link.tsx';
import { Confirm } from '../../components/confirm.tsx';
import { useSwitch } from './actions/use-change.ts';
import type { Webhook } from './parts/queries.ts';

export type OpenDialog = 'rotate' | 'recover' | 'delete';

type ActionsProps = { webhook: Webhook; onTest: () => void; onOpen: (dialog: OpenDialog) => void };

/** What can be done with a webhook. */
export function WebhookActions({ webhook, onTest, onOpen }: ActionsProps) {
  const [switching, setSwitching] = useState(false);
  const change = useSwitch(webhook.id);
  const close = () => setSwitching(false);
  return (
    <>
      <Button leftSection={<IconSend size={16} aria-hidden />} onClick={onTest}>
        Send test
      </Button>
      <ButtonLink
        variant="default"
        leftSection={<IconPencil size={16} aria-hidden />}
        to="/settings/integrations/webhooks/$webhookId/edit"
        params={{ webhookId: webhook.id }}
      >
        Edit
      </ButtonLink>
      <Menu position="bottom-end" width={220}>
        <Menu.Target>
          <ActionIcon variant="default" size={36} aria-label="More to do with this webhook">
            <IconDots size={18} aria-hidden />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item leftSection={<IconKey size={16} aria-hidden />} onClick={() => onOpen('rotate')}>
            {webhook.has_secret ? 'Rotate the secret' : 'Give it a secret'}
          </Menu.Item>
          {webhook.status === 'active' ? (
            <Menu.Item leftSection={<IconPower size={16} aria-hidden />} onClick={() => setSwitching(true)}>
              Switch off
            </Menu.Item>
          ) : null}
          <Menu.Item
            leftSection={<IconTrash size={16} aria-hidden />}
            c="var(--mantine-color-error)"
            onClick={() => onOpen('delete')}
          >
            Delete
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <Confirm
        opened={switching}
        onClose={close}
        title={`Switch off “${webhook.name}”?`}
        act="Switch off"
        pending={change.isPending}
        error={change.error}
        onAct={() => change.mutate(false, { onSuccess: close })}
      >
        Nothing is sent to it until somebody switches it on again. New events and retries that fall due are
        skipped meanwhile; for 7 days they can be recovered.
      </Confirm>
    </>
  );
}
