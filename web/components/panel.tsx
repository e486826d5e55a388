import { Box, Group, Title, type BoxProps } from '@mantine/core';
import type { ReactNode } from 'react';
import classes from './panel.module.css';

type PanelProps = BoxProps & { title?: ReactNode; actions?: ReactNode; children: ReactNode };

/** A bordered section of a page. */
export function Panel({ title, actions, children, className, ...box }: PanelProps) {
  return (
    <Box component="section" className={[classes['panel'], className].join(' ')} p="md" {...box}>
      {title || actions ? (
        <Group justify="space-between" mb="sm">
          {title ? <Title order={2}>{title}</Title> : null}
          {actions}
        </Group>
      ) : null}
      {children}
    </Box>
  );
}
