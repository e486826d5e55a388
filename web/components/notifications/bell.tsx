import { ActionIcon } from '@mantine/core';
import { IconBell } from '@tabler/icons-react';

/** The bell of one's notifications. */
export function Bell() {
  return (
    <ActionIcon variant="subtle" color="gray" size="lg" aria-label="Notifications">
      <IconBell size={18} aria-hidden />
    </ActionIcon>
  );
}
