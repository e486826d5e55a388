import { ActionIcon, Button, Group, Indicator, Popover, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { IconBell } from '../icons.tsx';
import classes from './bell.module.css';
import { NoticeRow } from './notice-row.tsx';
import { MAX_NOTICES, useNotices } from './use-notices.ts';

/** The bell with the number of unread notifications and their list. */
export function Bell() {
  const [opened, setOpened] = useState(false);
  const { notices, unread, read, readAll } = useNotices();
  const count = unread === MAX_NOTICES ? `${unread} or more` : String(unread);
  return (
    <Popover
      opened={opened}
      onChange={setOpened}
      position="bottom-end"
      width="min(24rem, calc(100vw - 1rem))"
      shadow="md"
      trapFocus
      returnFocus
    >
      <Indicator
        disabled={unread === 0}
        label={unread > 9 ? '9+' : unread}
        size={16}
        offset={6}
        color="red.8"
        classNames={{ indicator: classes['count'] ?? '' }}
      >
        <Popover.Target>
          <ActionIcon
            variant="subtle"
            color="gray"
            size="lg"
            aria-label={unread === 0 ? 'Notifications' : `Notifications, ${count} unread`}
            onClick={() => setOpened(!opened)}
          >
            <IconBell size={18} aria-hidden />
          </ActionIcon>
        </Popover.Target>
      </Indicator>
      <Popover.Dropdown p={0} aria-label="Notifications">
        <Group justify="space-between" px="sm" py={6} className={classes['head']}>
          <Text size="sm" fw={600}>
            Notifications
          </Text>
          {unread > 0 ? (
            <Button variant="subtle" size="compact-xs" onClick={readAll}>
              Mark all as read
            </Button>
          ) : null}
        </Group>
        {notices.length === 0 ? (
          <Stack p="md" gap={4}>
            <Text size="sm">No notifications yet</Text>
            <Text size="sm" c="dimmed">
              Shows runs that need your decision. Admins also see webhooks that were disabled after failures.
            </Text>
          </Stack>
        ) : (
          <ul className={classes['list']}>
            {notices.map((notice) => (
              <NoticeRow
                key={notice.id}
                notice={notice}
                onGo={() => {
                  setOpened(false);
                  if (notice.read_at === null) read(notice.id);
                }}
              />
            ))}
          </ul>
        )}
      </Popover.Dropdown>
    </Popover>
  );
}
