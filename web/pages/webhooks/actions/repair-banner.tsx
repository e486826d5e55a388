import { Button, Group, Text } from '@mantine/core';
import { useEffect, useRef } from 'react';
import { Banner } from '../../../components/banner.tsx';
import { RelativeTime } from '../../../components/time.tsx';
import type { Stats, Webhook } from '../parts/queries.ts';
import { plural } from '../parts/health.ts';
import { useActivation } from './use-activation.ts';

type BannerProps = {
  webhook: Webhook;
  stats: Stats | undefined;
  canChange: boolean;
  onTest: () => void;
  onRecover: () => void;
};

/**
 * Shows why a webhook sends nothing, since when, and the number of held deliveries. The buttons are in the order of
 * the repair: test, enable, recover.
 */
export function RepairBanner({ webhook, stats, canChange, onTest, onRecover }: BannerProps) {
  const change = useActivation(webhook.id);
  const recover = useRef<HTMLButtonElement>(null);
  const isEnabled = change.isSuccess && webhook.status === 'active';
  // The button that had the focus is gone. This is the next step.
  useEffect(() => {
    if (isEnabled && document.activeElement === document.body) recover.current?.focus();
  }, [isEnabled]);
  const held = stats?.held ?? 0;
  const isDisabled = webhook.status === 'disabled';
  if (webhook.status === 'inactive') {
    return (
      <Banner tone="off" title="Webhook inactive">
        <Text size="sm" mb={canChange ? 'xs' : 0}>
          New events and due retries are skipped. Skipped deliveries can be recovered until they are removed
          from the log.
        </Text>
        {canChange ? (
          <Button size="xs" loading={change.isPending} onClick={() => change.mutate(true)}>
            Activate
          </Button>
        ) : null}
      </Banner>
    );
  }
  if (!isDisabled && held === 0) return null;
  return (
    <Banner
      tone={isDisabled ? 'failed' : 'held'}
      title={isDisabled ? 'Webhook disabled' : `${plural(held, 'delivery', 'deliveries')} held`}
    >
      <Text size="sm" mb="xs">
        {isDisabled ? (
          <>
            {webhook.disabled_at ? (
              <>
                Disabled <RelativeTime at={webhook.disabled_at} />:{' '}
              </>
            ) : null}
            {webhook.disabled_reason}. {heldSentence(held)}
          </>
        ) : (
          'Held while the webhook was disabled. Recover the deliveries to send them.'
        )}
      </Text>
      {canChange ? (
        <Group gap="xs">
          {isDisabled ? (
            <>
              <Button size="xs" variant="default" onClick={onTest}>
                1 · Send test event
              </Button>
              <Button size="xs" loading={change.isPending} onClick={() => change.mutate(true)}>
                2 · Enable
              </Button>
            </>
          ) : null}
          {held > 0 ? (
            <Button
              size="xs"
              variant={isDisabled ? 'default' : 'filled'}
              ref={recover}
              onClick={onRecover}
              disabled={isDisabled}
            >
              {isDisabled ? '3 · ' : ''}Recover {plural(held, 'delivery', 'deliveries')}
            </Button>
          ) : null}
        </Group>
      ) : (
        <Text size="sm">
          Ask an admin of this workspace to {isDisabled ? 'enable the webhook' : 'recover the deliveries'}.
        </Text>
      )}
    </Banner>
  );
}

function heldSentence(held: number): string {
  if (held === 0) return 'New events are held.';
  return `${plural(held, 'delivery', 'deliveries')} ${held === 1 ? 'is' : 'are'} held. New events are held, too.`;
}
