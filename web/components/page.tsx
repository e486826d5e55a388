import { Box, Group, Stack, Text, Title } from '@mantine/core';
import { useDocumentTitle } from '@mantine/hooks';
import type { ReactNode } from 'react';

type PageProps = {
  title: string;
  /** One sentence on the purpose of the page. */
  lead?: ReactNode;
  /** Buttons beside the title. */
  actions?: ReactNode;
  /** Tables may use the whole width; text may not. */
  wide?: boolean;
  children: ReactNode;
};

/** A page with its title (also of the browser tab), lead, actions and content. */
export function Page({ title, lead, actions, wide = false, children }: PageProps) {
  useDocumentTitle(`${title} · Baton`);
  return (
    <Box maw={wide ? 1680 : 1200} mx="auto">
      <Group justify="space-between" align="flex-start" mb="md" gap="sm">
        <Stack gap={2}>
          <Title order={1}>{title}</Title>
          {lead ? (
            <Text c="dimmed" maw={720}>
              {lead}
            </Text>
          ) : null}
        </Stack>
        {actions ? <Group gap="xs">{actions}</Group> : null}
      </Group>
      {children}
    </Box>
  );
}
