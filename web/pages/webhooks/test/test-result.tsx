import { Group, Stack, Text } from '@mantine/core';
import { DELIVERY_TIMEOUT_MS } from '../../../../src/domain/common/limits.ts';
import { errorMessage } from '../../../components/states.tsx';
import { TextLink } from '../../../components/text-link.tsx';
import { describeAttempt } from '../parts/attempt-text.ts';
import { Callout } from '../parts/callout.tsx';
import { Exchange } from '../parts/exchange.tsx';
import { Timings } from '../parts/timings.tsx';
import type { TestState } from './send-test.ts';

/** Shows the result of a test, its summary first. */
export function TestResult({ webhookId, test }: { webhookId: string; test: TestState }) {
  if (test.state === 'sending') {
    return (
      <Text size="sm">
        Sending {test.event}… (up to {DELIVERY_TIMEOUT_MS / 1_000} s)
      </Text>
    );
  }
  if (test.state === 'not sent') {
    return (
      <Callout tone="failed" title="The test event could not be sent">
        {errorMessage(test.error)}
      </Callout>
    );
  }
  const { attempt } = test;
  const succeeded = attempt.failure === null;
  return (
    <Stack gap="xs" data-test-result={succeeded ? 'succeeded' : 'failed'}>
      <Callout tone={succeeded ? 'done' : 'failed'} title={succeeded ? 'Test succeeded' : 'Test failed'}>
        {describeAttempt(attempt)}
      </Callout>
      <Group gap="xs">
        <Timings attempt={attempt} />
        <TextLink
          fz="sm"
          to="/settings/integrations/webhooks/$webhookId/deliveries/$deliveryId"
          params={{ webhookId, deliveryId: attempt.delivery_id }}
        >
          Open delivery
        </TextLink>
      </Group>
      <Exchange attempt={attempt} />
    </Stack>
  );
}
