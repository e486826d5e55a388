import { Stack, Text, Textarea, TextInput } from '@mantine/core';
import {
  MAX_URL_LENGTH,
  MAX_WEBHOOK_DESCRIPTION_LENGTH,
  MAX_WEBHOOK_NAME_LENGTH,
} from '../../../../src/domain/common/limits.ts';
import { useFocus } from '../../../forms/use-focus.ts';
import type { FormErrors } from '../../../forms/validate.ts';
import { Panel } from '../../../components/panel.tsx';
import { nameFrom, type Draft } from './draft.ts';
import { checkUrl } from './url-check.ts';

type PartProps = {
  draft: Draft;
  errors: FormErrors;
  change: (members: Partial<Draft>) => void;
  /** Whether the webhook does not exist yet. The first field then gets the focus. */
  isNew: boolean;
};

/** The endpoint section of the form. Checks the URL while it is typed. */
export function Endpoint({ draft, errors, change, isNew }: PartProps) {
  const first = useFocus<HTMLInputElement>(isNew);
  const check = checkUrl(draft.url);
  const error = errors['url'] ?? (check.kind === 'wrong' ? check.text : undefined);
  return (
    <Panel title="Endpoint">
      <Stack gap="sm">
        <TextInput
          ref={first}
          label="URL"
          description="Receives a POST request with a JSON body for each event"
          type="url"
          name="url"
          inputMode="url"
          autoComplete="off"
          spellCheck={false}
          placeholder="https://api.acme.io/hooks"
          maxLength={MAX_URL_LENGTH}
          value={draft.url}
          error={error}
          onChange={(event) => change({ url: event.currentTarget.value })}
        />
        <div aria-live="polite">
          {!error && check.text !== '' ? (
            <Text size="sm" c={check.kind === 'careful' ? 'var(--tone-held)' : 'var(--tone-done)'}>
              {check.text}
            </Text>
          ) : null}
        </div>
        <TextInput
          label="Name"
          description="Default: the host of the URL"
          name="name"
          autoComplete="off"
          placeholder={nameFrom(draft.url.trim()) || 'Billing sync'}
          maxLength={MAX_WEBHOOK_NAME_LENGTH}
          value={draft.name}
          error={draft.name === '' && draft.url === '' ? undefined : errors['name']}
          onChange={(event) => change({ name: event.currentTarget.value })}
        />
        <Textarea
          label="Description"
          description="What the webhook is for"
          name="description"
          autosize
          minRows={1}
          maxRows={6}
          maxLength={MAX_WEBHOOK_DESCRIPTION_LENGTH}
          value={draft.description}
          error={errors['description']}
          onChange={(event) => change({ description: event.currentTarget.value })}
        />
      </Stack>
    </Panel>
  );
}
