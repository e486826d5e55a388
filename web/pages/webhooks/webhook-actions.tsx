import { ActionIcon, Button, Menu } from '@mantine/core';
import { useState } from 'react';
import { ButtonLink } from '../../components/button-link.tsx';
import { Confirm } from '../../components/confirm.tsx';
import { IconDots, IconKey, IconPencil, IconPower, IconSend, IconTrash } from '../../components/icons.tsx';
import { useActivation } from './actions/use-activation.ts';
import type { Webhook } from './parts/queries.ts';

export type OpenDialog = 'rotate' | 'recover' | 'delete';

type ActionsProps = { webhook: Webhook; onTest: () => void; onOpen: (dialog: OpenDialog) => void };

/** The actions of a webhook. */
export function WebhookActions({ webhook, onTest, onOpen }: ActionsProps) {
  const [isDeactivating, setIsDeactivating] = useState(false);
  const change = useActivation(webhook.id);
  const close = () => setIsDeactivating(false);
  return (
    <>
      <Button leftSection={<IconSend size={16} aria-hidden />} onClick={onTest}>
        Send test event
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
          <ActionIcon variant="default" size={36} aria-label="More actions">
            <IconDots size={18} aria-hidden />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item leftSection={<IconKey size={16} aria-hidden />} onClick={() => onOpen('rotate')}>
            {webhook.has_secret ? 'Rotate secret' : 'Add secret'}
          </Menu.Item>
          {webhook.status === 'active' ? (
            <Menu.Item
              leftSection={<IconPower size={16} aria-hidden />}
              onClick={() => setIsDeactivating(true)}
            >
              Deactivate
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
        opened={isDeactivating}
        onClose={close}
        title={`Deactivate “${webhook.name}”?`}
        confirmLabel="Deactivate"
        isPending={change.isPending}
        error={change.error}
        onConfirm={() => change.mutate(false, { onSuccess: close })}
      >
        Baton sends only test events until you activate the webhook again. New events and due retries are
        skipped. You can recover skipped deliveries until they are removed from the log.
      </Confirm>
    </>
  );
}
