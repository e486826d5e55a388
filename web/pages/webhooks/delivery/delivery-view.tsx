import { Badge, Button, Group, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { useSession } from '../../../api/session.ts';
import { Id } from '../../../components/id.tsx';
import { Status } from '../../../components/status.tsx';
import { TextLink } from '../../../components/text-link.tsx';
import { toneOf } from '../../../components/tones.ts';
import { useActivation } from '../actions/use-activation.ts';
import { describeDelivery, failureExcerpt, remedyFor } from '../parts/attempt-text.ts';
import { Callout } from '../parts/callout.tsx';
import { Exchange } from '../parts/exchange.tsx';
import type { DeliveryDetail, Webhook } from '../parts/queries.ts';
import { Timings } from '../parts/timings.tsx';
import classes from './delivery.module.css';
import { RetryButtons } from './retry-buttons.tsx';
import { Timeline } from './timeline.tsx';

/** Shows one delivery: its status as text, its timeline, the request and the response. */
export function DeliveryView({
  delivery,
  webhook,
}: {
  delivery: DeliveryDetail;
  /** null if the webhook was deleted, undefined while it is loading. */
  webhook: Webhook | null | undefined;
}) {
  const { hasScope } = useSession();
  const canChange = hasScope('webhooks:write');
  const [selectedNumber, setSelectedNumber] = useState<number | null>(null);
  const { attempts } = delivery;
  // The latest attempt by default.
  const excerpt = failureExcerpt(attempts.at(-1));
  const attempt = attempts.find(({ number }) => number === selectedNumber) ?? attempts.at(-1);
  return (
    <Stack gap="md" data-delivery-view={delivery.id}>
      <Group gap="xs">
        <Status status={delivery.status} />
        <code>{delivery.event}</code>
        {delivery.test ? (
          <Badge variant="light" color="gray">
            test
          </Badge>
        ) : null}
        <Id value={delivery.id} label="delivery ID" />
        <Id value={delivery.event_id} label="event ID" />
      </Group>
      {delivery.about ? <Text size="sm">{delivery.about}</Text> : null}
      <Callout tone={toneOf(delivery.status)} title="What happened">
        {describeDelivery(delivery, webhook && webhook.status)}{' '}
        {webhook && canChange ? <Remedy delivery={delivery} webhook={webhook} /> : null}
        {excerpt === null ? null : <code className={classes['excerpt']}>{excerpt}</code>}
      </Callout>
      {canChange ? <RetryButtons delivery={delivery} webhook={webhook} /> : null}
      <Timeline delivery={delivery} chosen={attempt?.number} onChoose={setSelectedNumber} />
      {attempt ? (
        <>
          <Timings attempt={attempt} />
          <Exchange attempt={attempt} />
        </>
      ) : null}
    </Stack>
  );
}

/** Offers the change with which an event like that of a skipped delivery would be sent. */
function Remedy({ delivery, webhook }: { delivery: DeliveryDetail; webhook: Webhook }) {
  const activation = useActivation(webhook.id);
  switch (remedyFor(delivery, webhook)) {
    case 'filters':
      return (
        <TextLink to="/settings/integrations/webhooks/$webhookId/edit" params={{ webhookId: webhook.id }}>
          Edit filters
        </TextLink>
      );
    case 'activation':
      return (
        <Button
          size="compact-xs"
          variant="default"
          loading={activation.isPending}
          onClick={() => activation.mutate(true)}
        >
          Activate webhook
        </Button>
      );
    case null:
      return null;
  }
}
