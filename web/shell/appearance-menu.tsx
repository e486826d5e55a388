import { ActionIcon, Menu, useMantineColorScheme } from '@mantine/core';
import { IconCheck, IconDeviceDesktop, IconMoon, IconSun } from '../components/icons.tsx';
import { useDensity, type Density } from './density.ts';

const SCHEMES = [
  { scheme: 'light', title: 'Light', icon: IconSun },
  { scheme: 'dark', title: 'Dark', icon: IconMoon },
  { scheme: 'auto', title: 'System', icon: IconDeviceDesktop },
] as const;
const DENSITIES: readonly { value: Density; title: string }[] = [
  { value: 'comfortable', title: 'Comfortable' },
  { value: 'compact', title: 'Compact' },
];

/** Switches between light, dark and system theme, and between comfortable and compact rows. */
export function AppearanceMenu() {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const [density, setDensity] = useDensity();
  const { icon: CurrentIcon } = SCHEMES.find(({ scheme }) => scheme === colorScheme) ?? SCHEMES[2];
  return (
    <Menu position="bottom-end" width={180}>
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" size="lg" aria-label="Appearance">
          <CurrentIcon size={18} aria-hidden />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>Theme</Menu.Label>
        {SCHEMES.map(({ scheme, title, icon: Icon }) => (
          <Menu.Item
            key={scheme}
            leftSection={<Icon size={16} aria-hidden />}
            rightSection={scheme === colorScheme ? <Selected /> : null}
            onClick={() => setColorScheme(scheme)}
          >
            {title}
          </Menu.Item>
        ))}
        <Menu.Label>Rows</Menu.Label>
        {DENSITIES.map(({ value, title }) => (
          <Menu.Item
            key={value}
            rightSection={value === density ? <Selected /> : null}
            onClick={() => setDensity(value)}
          >
            {title}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}

function Selected() {
  return <IconCheck size={14} aria-label="selected" />;
}
