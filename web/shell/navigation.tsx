import { Link, type LinkProps } from '@tanstack/react-router';
import {
  IconAddressBook,
  IconFolders,
  IconHistory,
  IconKey,
  IconRobot,
  IconTopologyStar3,
  IconUsers,
  IconWebhook,
  type Icon,
} from '../components/icons.tsx';
import classes from './shell.module.css';

export type NavigationItem = {
  to: NonNullable<LinkProps['to']>;
  title: string;
  icon: Icon;
};

const ORCHESTRATION: NavigationItem = {
  to: '/orchestration',
  title: 'Orchestration',
  icon: IconTopologyStar3,
};

const SETTINGS: { heading: string; items: NavigationItem[] }[] = [
  {
    heading: 'Settings › Integrations',
    items: [{ to: '/settings/integrations/webhooks', title: 'Webhooks', icon: IconWebhook }],
  },
  {
    heading: 'Settings',
    items: [
      { to: '/settings/api-keys', title: 'API keys', icon: IconKey },
      { to: '/settings/members', title: 'Members', icon: IconUsers },
      { to: '/settings/projects', title: 'Projects', icon: IconFolders },
      { to: '/settings/agents', title: 'Agents', icon: IconRobot },
      { to: '/settings/audit-log', title: 'Audit log', icon: IconHistory },
      { to: '/settings/source-addresses', title: 'Source addresses', icon: IconAddressBook },
    ],
  },
];

/** All pages of the main navigation. */
export const PAGES: readonly NavigationItem[] = [ORCHESTRATION, ...SETTINGS.flatMap(({ items }) => items)];

/** The main navigation. `onGo` closes it on a phone. */
export function Navigation({ onGo }: { onGo: () => void }) {
  return (
    <>
      <NavigationList items={[ORCHESTRATION]} onGo={onGo} />
      {SETTINGS.map(({ heading, items }) => (
        <div key={heading}>
          <div className={classes['heading']}>{heading}</div>
          <NavigationList items={items} onGo={onGo} />
        </div>
      ))}
    </>
  );
}

function NavigationList({ items, onGo }: { items: readonly NavigationItem[]; onGo: () => void }) {
  return (
    <ul className={classes['list']}>
      {items.map(({ to, title, icon: Icon }) => (
        <li key={title}>
          <Link
            to={to}
            className={classes['way']}
            activeProps={{ 'data-here': true, 'aria-current': 'page' }}
            activeOptions={{ includeSearch: false }}
            onClick={onGo}
          >
            <Icon size={18} aria-hidden />
            {title}
          </Link>
        </li>
      ))}
    </ul>
  );
}
