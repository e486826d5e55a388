import {
  Button,
  Checkbox,
  Input,
  PasswordInput,
  SegmentedControl,
  Stack,
  Switch,
  Text,
  TextInput,
} from '@mantine/core';
import { MAX_SECRET_LENGTH } from '../../../../src/domain/common/limits.ts';
import { IconRefresh } from '../../../components/icons.tsx';
import type { FormErrors } from '../../../forms/validate.ts';
import { CopyButton } from '../../../components/copy-button.tsx';
import { Panel } from '../../../components/panel.tsx';
import { Callout } from '../parts/callout.tsx';
import type { Webhook } from '../parts/queries.ts';
import { needsConsent, newSecret, type Draft, type SecretMode } from './draft.ts';
import classes from './form.module.css';
import { VerificationCode } from '../parts/verification-code.tsx';

type SigningProps = {
  draft: Draft;
  errors: FormErrors;
  /** The webhook to edit; undefined for a new one. */
  webhook: Webhook | undefined;
  change: (members: Partial<Draft>) => void;
};

/** The signing section of the form. */
export function Signing({ draft, errors, webhook, change }: SigningProps) {
  const hasSecret = webhook ? webhook.has_secret : null;
  const hasSecretAfterSave = draft.secretMode === 'keep' ? hasSecret === true : draft.secretMode !== 'none';
  const modes: { value: SecretMode; label: string }[] = [
    ...(hasSecret === null ? [] : [{ value: 'keep' as const, label: hasSecret ? 'Keep' : 'No secret' }]),
    { value: 'generate', label: 'Generate' },
    { value: 'paste', label: 'Use my own' },
    ...(hasSecret === false ? [] : [{ value: 'none' as const, label: 'No secret' }]),
  ];
  return (
    <Panel title="Signing">
      <Stack gap="sm">
        <div>
          <Input.Label labelElement="div" id="secret-way" display="block">
            Secret
          </Input.Label>
          <SegmentedControl
            aria-labelledby="secret-way"
            data={modes}
            value={draft.secretMode}
            onChange={(way) => change(withoutDependencies(draft, way, hasSecret === true))}
          />
        </div>
        <SecretPart draft={draft} error={errors['secret']} change={change} />
        {hasSecret && (draft.secretMode === 'generate' || draft.secretMode === 'paste') ? (
          <Text size="sm" c="dimmed">
            Saving replaces the old secret immediately. To sign with both for a time, use “Rotate secret” on
            the page of the webhook.
          </Text>
        ) : null}
        {hasSecretAfterSave ? null : (
          <Callout tone="held" title="Requests are not signed">
            The receiver cannot verify that requests come from Baton.
          </Callout>
        )}
        <Switch
          label="Send Standard Webhooks headers"
          description="Adds webhook-id, webhook-timestamp and webhook-signature, for receivers that use Standard Webhooks libraries"
          disabled={!hasSecretAfterSave}
          checked={draft.standardWebhooks}
          error={errors['standard_webhooks']}
          onChange={(event) => change({ standardWebhooks: event.currentTarget.checked })}
        />
        <Switch
          label="Send the secret in X-Webhook-Secret"
          description="Only for receivers that cannot verify signatures"
          disabled={!hasSecretAfterSave}
          checked={draft.includeSecretHeader}
          error={errors['include_secret_header']}
          onChange={(event) => change({ includeSecretHeader: event.currentTarget.checked })}
        />
        {draft.includeSecretHeader ? (
          <Callout tone="failed" title="Each request reveals the secret" urgent>
            Anyone with access to proxies, logs or error reports can then forge requests.
          </Callout>
        ) : null}
        {needsConsent(draft, webhook) ? (
          <Checkbox
            label="Send the secret unencrypted"
            description="The URL uses http. Anyone on the network between Baton and the receiver can read the secret. Use https if you can."
            checked={draft.allowSecretOverHttp}
            error={errors['allow_secret_over_http']}
            onChange={(event) => change({ allowSecretOverHttp: event.currentTarget.checked })}
          />
        ) : null}
        {hasSecretAfterSave ? <VerificationCode /> : null}
      </Stack>
    </Panel>
  );
}

/** Turns off the options that need a secret if there is none. */
function withoutDependencies(draft: Draft, secretMode: SecretMode, hasSecret: boolean): Partial<Draft> {
  const willHave = secretMode === 'keep' ? hasSecret : secretMode !== 'none';
  return {
    secretMode,
    includeSecretHeader: willHave && draft.includeSecretHeader,
    standardWebhooks: willHave && draft.standardWebhooks,
  };
}

function SecretPart({
  draft,
  error,
  change,
}: Pick<SigningProps, 'draft' | 'change'> & { error: string | undefined }) {
  if (draft.secretMode === 'generate') {
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
            Regenerate
          </Button>
        </div>
        <Text size="sm" c="dimmed" mt={4}>
          You can copy the secret now, and once more after saving.
        </Text>
      </div>
    );
  }
  if (draft.secretMode !== 'paste') return error === undefined ? null : <Input.Error>{error}</Input.Error>;
  return (
    <PasswordInput
      label="Secret"
      description={`1 to ${MAX_SECRET_LENGTH} characters. Recommended: 32 random bytes`}
      autoComplete="new-password"
      value={draft.pasted}
      error={error}
      onChange={(event) => change({ pasted: event.currentTarget.value })}
      visibilityToggleButtonProps={{ 'aria-label': 'Show or hide secret' }}
    />
  );
}
