import { Button, PasswordInput, SegmentedControl, Stack, Switch, Text, TextInput } from '@mantine/core';
import { IconRefresh } from '@tabler/icons-react';
import { useState } from 'react';
import { MAX_SECRET_LENGTH } from '../../../../src/domain/common/limits.ts';
import type { FormErrors } from '../../../forms/check.ts';
import { CopyButton } from '../../../components/copy-button.tsx';
import { Panel } from '../../../components/panel.tsx';
import { Callout } from '../parts/callout.tsx';
import type { Webhook } from '../parts/queries.ts';
import { newSecret, type Draft, type SecretWay } from './draft.ts';
import classes from './form.module.css';
import { SnippetTabs } from './snippet-tabs.tsx';

type ProofProps = {
  draft: Draft;
  errors: FormErrors;
  /** The webhook that is edited; undefined for a new one. */
  webhook: Webhook | undefined;
  change: (members: Partial<Draft>) => void;
};

/** How receivers know that a request is genuine. */
export function Proof({ draft, errors, webhook, change }: ProofProps) {
  const hasSecret = webhook ? webhook.has_secret : null;
  const [showsCode, setShowsCode] = useState(false);
  const willHave = draft.secretWay === 'keep' ? hasSecret === true : draft.secretWay !== 'none';
  const ways: { value: SecretWay; label: string }[] = [
    ...(hasSecret === null ? [] : [{ value: 'keep' as const, label: hasSecret ? 'Keep it' : 'Still none' }]),
    { value: 'generate', label: 'Generate' },
    { value: 'paste', label: 'Paste' },
    ...(hasSecret === false ? [] : [{ value: 'none' as const, label: 'None' }]),
  ];
  return (
    <Panel title="Proof">
      <Stack gap="sm">
        <div>
          <Text size="sm" fw={500} id="secret-way" mb={4}>
            Secret
          </Text>
          <SegmentedControl
            aria-labelledby="secret-way"
            data={ways}
            value={draft.secretWay}
            onChange={(way) => change(withoutDependencies(draft, way, hasSecret === true))}
          />
        </div>
        <SecretPart draft={draft} error={errors['secret']} change={change} />
        {willHave ? null : (
          <Callout tone="held" title="Nothing will be signed">
            The receiver can not tell these requests from anybody else’s.
          </Callout>
        )}
        <Switch
          label="Send the headers of Standard Webhooks as well"
          description="webhook-id, webhook-timestamp and webhook-signature, for receivers that use its libraries"
          disabled={!willHave}
          checked={draft.standardWebhooks}
          error={errors['standard_webhooks']}
          onChange={(event) => change({ standardWebhooks: event.currentTarget.checked })}
        />
        <Switch
          label="Send the secret itself, in X-Webhook-Secret"
          description="Only for receivers that can not check a signature"
          disabled={!willHave}
          checked={draft.includeSecretHeader}
          error={errors['include_secret_header']}
          onChange={(event) => change({ includeSecretHeader: event.currentTarget.checked })}
        />
        {draft.includeSecretHeader ? (
          <Callout tone="failed" title="Whoever sees one request then has the secret" urgent>
            Proxies, logs and error reports among them. They could sign requests of their own.
          </Callout>
        ) : null}
        {willHave ? (
          <>
            <Button
              variant="default"
              size="xs"
              aria-expanded={showsCode}
              onClick={() => setShowsCode(!showsCode)}
              style={{ alignSelf: 'flex-start' }}
            >
              {showsCode ? 'Hide the code' : 'Show the code that checks signatures'}
            </Button>
            {showsCode ? <SnippetTabs /> : null}
          </>
        ) : null}
        {webhook?.status === 'disabled' ? null : (
          <Switch
            label="Active"
            description="Off: nothing is sent, and new events are skipped"
            checked={draft.active}
            onChange={(event) => change({ active: event.currentTarget.checked })}
          />
        )}
      </Stack>
    </Panel>
  );
}

/** What needs a secret is off without one. */
function withoutDependencies(draft: Draft, secretWay: SecretWay, hasSecret: boolean): Partial<Draft> {
  const willHave = secretWay === 'keep' ? hasSecret : secretWay !== 'none';
  return {
    secretWay,
    includeSecretHeader: willHave && draft.includeSecretHeader,
    standardWebhooks: willHave && draft.standardWebhooks,
  };
}

function SecretPart({
  draft,
  error,
  change,
}: Pick<ProofProps, 'draft' | 'change'> & { error: string | undefined }) {
  if (draft.secretWay === 'generate') {
    return (
      <div>
        <div className={classes['secret']}>
          <TextInput
            label="New secret"
            readOnly
            value={draft.generated}
            error={error}
            styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
            onFocus={(event) => event.currentTarget.select()}
          />
          <CopyButton value={draft.generated} label="Copy" />
          <Button
            variant="default"
            size="xs"
            leftSection={<IconRefresh size={14} aria-hidden />}
            onClick={() => change({ generated: newSecret() })}
          >
            Another
          </Button>
        </div>
        <Text size="sm" c="dimmed" mt={4}>
          Shown only here: give it to the receiver before you leave. Nobody can read it again later.
        </Text>
      </div>
    );
  }
  if (draft.secretWay !== 'paste') return null;
  return (
    <PasswordInput
      label="Your secret"
      description={`1 to ${MAX_SECRET_LENGTH} characters, best 32 random bytes`}
      autoComplete="new-password"
      value={draft.pasted}
      error={error}
      onChange={(event) => change({ pasted: event.currentTarget.value })}
      visibilityToggleButtonProps={{ 'aria-label': 'Show or hide the secret' }}
    />
  );
}
