import { Box, Text } from '@mantine/core';
import { useTimeout } from '@mantine/hooks';
import { useState, type ReactNode } from 'react';
import { useConnection } from '../api/connection.ts';
import classes from './waiting.module.css';
import { waitingText } from './waiting-text.ts';

/** After this time, words say more than placeholders. */
const PATIENCE_MS = 2_000;

/** Shows placeholders while something loads; after two seconds a message in their place. */
export function Waiting({ children }: { children: ReactNode }) {
  const [isLate, setIsLate] = useState(false);
  const connection = useConnection();
  useTimeout(() => setIsLate(true), PATIENCE_MS, { autoInvoke: true });
  return (
    <Box className={classes['place']} role="status" aria-label="Loading">
      <div className={classes['placeholders']} data-late={isLate || undefined}>
        {children}
      </div>
      {isLate ? (
        <Text className={classes['words']} c="dimmed">
          {waitingText(connection)}
        </Text>
      ) : null}
    </Box>
  );
}
