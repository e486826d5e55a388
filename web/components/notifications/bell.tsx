import { ActionIcon, Button, Group, Indicator, Popover, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { IconBell } from '../icons.tsx';
import classes from './bell.module.css';
import { NoticeRow, RunsRow } from './notice-row.tsx';
import { bellRows } from './notice-text.ts';
import { useNotices } from './use-notices.ts';

/** How many rows are shown. */
const MAX_ROWS = 30;

/** The bell with the number of unread notifications and their list. */
export function Bell() {
  const [opened, setOpened] = useState(false);
  const { notices, unread, hasMore, read, readAll } = useNotices();
  const count = `${unread}${hasMore && unread === notices.length ? ' or more' : ''}`;
  const rows = bellRows(notices, MAX_ROWS);
  const close = () => setOpened(false);
  return (
    <Popover
      opened={opened}
      onChange={setOpened}
      position="bottom-end"
      offset={12}
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
        <Group justify="space-between" px="sm" py="xs" className={classes['head']}>
          <Text size="sm" fw={600}>
            Notifications
          </Text>
          {unread > 0 ? (
            <Button variant="subtle" size="compact-xs" onClick={readAll}>
              Mark all as read
            </Button>
          ) : null}
        </Group>
        {rows.length === 0 ? (
          <Stack p="md" gap={4}>
            <Text size="sm">No notifications yet</Text>
            <Text size="sm" c="dimmed">
              Shows runs that need your answer or decision. Admins also see webhooks that were disabled after
              failures.
            </Text>
          </Stack>
        ) : (
          <ul className={classes['list']}>
            {rows.map((row) =>
              row.kind === 'runs' ? (
                <RunsRow key="runs" runs={row} hasMore={hasMore} onGo={close} />
              ) : (
                <NoticeRow
                  key={row.notice.id}
                  notice={row.notice}
                  onRead={() => read(row.notice.id)}
                  onGo={() => {
                    close();
                    if (row.notice.read_at === null) read(row.notice.id);
                  }}
                />
              ),
            )}
          </ul>
        )}
      </Popover.Dropdown>
    </Popover>
  );
}
