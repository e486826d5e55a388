import { AppShell, Burger, Group, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { Outlet } from '@tanstack/react-router';
import { useSession } from '../api/session.ts';
import { Bell } from '../components/notifications/bell.tsx';
import { AppearanceMenu } from './appearance-menu.tsx';
import { ConnectionBanner } from './connection-banner.tsx';
import { Navigation } from './navigation.tsx';
import { PersonMenu } from './person-menu.tsx';
import { Shortcuts } from './shortcuts.tsx';
import classes from './shell.module.css';

/**
 * The frame of every page: workspace and navigation at the left, notifications, appearance and account at the top right.
 */
export function Shell() {
  const { me } = useSession();
  const [opened, { toggle, close }] = useDisclosure(false);
  return (
    <AppShell
      header={{ height: 52 }}
      navbar={{ width: 232, breakpoint: 'sm', collapsed: { mobile: !opened } }}
      padding="md"
      transitionDuration={120}
    >
      <a className="skip-link" href="#content">
        Skip to content
      </a>
      <AppShell.Header className={classes['bar']}>
        <Group h="100%" px="md" justify="space-between" wrap="nowrap">
          <Group gap="sm" wrap="nowrap" className={classes['brand']}>
            <Burger
              opened={opened}
              onClick={toggle}
              hiddenFrom="sm"
              size="sm"
              aria-label={opened ? 'Close navigation' : 'Open navigation'}
              aria-expanded={opened}
            />
            <span className={classes['mark']} aria-hidden />
            <Text fw={700} truncate title="Workspace">
              {me.workspace.name}
            </Text>
          </Group>
          <Group gap={4} wrap="nowrap" className={classes['tools']}>
            <ConnectionBanner />
            <Shortcuts />
            <Bell />
            <AppearanceMenu />
            <PersonMenu />
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar className={classes['ways']} p="sm" aria-label="Main">
        <Navigation onGo={close} />
      </AppShell.Navbar>
      <AppShell.Main id="content" tabIndex={-1} className={classes['main']}>
        <Outlet />
      </AppShell.Main>
    </AppShell>
  );
}
