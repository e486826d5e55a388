import { Text } from '@mantine/core';
import { formatDuration } from '../../../format/time.ts';
import type { Attempt } from './queries.ts';

const STAGES = [
  ['DNS', 'lookup_ms'],
  ['connect', 'connect_ms'],
  ['TLS', 'tls_ms'],
  ['first byte', 'first_byte_ms'],
  ['total', 'total_ms'],
] as const;

/** `attempt 3 · automatic · 203.0.113.9 · DNS 2 ms · connect 8 ms · total 1.2 s`. */
export function Timings({ attempt }: { attempt: Attempt }) {
  const stages = STAGES.flatMap(([name, field]) => {
    const ms = attempt.timings[field];
    return ms === null ? [] : [`${name} ${formatDuration(ms)}`];
  });
  const parts = [
    `attempt ${attempt.number}`,
    attempt.trigger,
    ...(attempt.address ? [attempt.address] : []),
    ...(attempt.timings.reconnected ? ['sent again on a new connection'] : []),
    ...stages,
  ];
  return (
    <Text size="sm" c="dimmed">
      {parts.join(' · ')}
    </Text>
  );
}
