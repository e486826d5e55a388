import { Text } from '@mantine/core';
import { inWords } from '../../../format/time.ts';
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
  const stages = STAGES.flatMap(([name, member]) => {
    const ms = attempt.timings[member];
    return ms === null ? [] : [`${name} ${inWords(ms)}`];
  });
  const parts = [
    `attempt ${attempt.number}`,
    attempt.trigger,
    ...(attempt.address ? [attempt.address] : []),
    ...stages,
  ];
  return (
    <Text size="sm" c="dimmed">
      {parts.join(' · ')}
    </Text>
  );
}
