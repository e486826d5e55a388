import { Group, Tabs } from '@mantine/core';
import { CopyButton } from '../../../components/copy-button.tsx';
import classes from './form.module.css';
import { SNIPPETS } from './snippets.ts';

/** Shows code that verifies signatures in three languages. */
export function SnippetTabs() {
  return (
    <Tabs defaultValue={SNIPPETS[0]?.language ?? ''} keepMounted={false}>
      <Tabs.List>
        {SNIPPETS.map(({ language }) => (
          <Tabs.Tab key={language} value={language}>
            {language}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {SNIPPETS.map(({ language, check, whole }) => (
        <Tabs.Panel key={language} value={language} pt="xs">
          <pre
            className={classes['code']}
            // A region that scrolls must be reachable without a mouse.
            // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
            tabIndex={0}
            role="region"
            aria-label={`Signature verification, ${language}`}
          >
            {check}
          </pre>
          <Group gap="xs" mt="xs">
            <CopyButton value={check} label="Copy" />
            <CopyButton value={whole} label="Copy full receiver" />
          </Group>
        </Tabs.Panel>
      ))}
    </Tabs>
  );
}
