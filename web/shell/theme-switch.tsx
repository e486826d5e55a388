import { ActionIcon, Menu, useMantineColorScheme } from '@mantine/core';
import { IconCheck, IconDeviceDesktop, IconMoon, IconSun } from '../components/icons.tsx';

const SCHEMES = [
  { scheme: 'light', title: 'Light', icon: IconSun },
  { scheme: 'dark', title: 'Dark', icon: IconMoon },
  { scheme: 'auto', title: 'System', icon: IconDeviceDesktop },
] as const;

/** Switches between light, dark and system theme. */
export function ThemeSwitch() {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const { icon: CurrentIcon } = SCHEMES.find(({ scheme }) => scheme === colorScheme) ?? SCHEMES[2];
  return (
    <Menu position="bottom-end" width={180}>
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" size="lg" aria-label="Theme">
          <CurrentIcon size={18} aria-hidden />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {SCHEMES.map(({ scheme, title, icon: Icon }) => (
          <Menu.Item
            key={scheme}
            leftSection={<Icon size={16} aria-hidden />}
            rightSection={scheme === colorScheme ? <IconCheck size={14} aria-label="selected" /> : null}
            onClick={() => setColorScheme(scheme)}
          >
            {title}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
