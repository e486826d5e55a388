import { Button, Switch, Text } from '@mantine/core';
import { useMemo, useState, type KeyboardEvent, type SubmitEvent } from 'react';
import { webhookEdit, webhookPlan } from '../../../../src/domain/webhooks/webhook-plan.ts';
import { actionOfKey } from '../../../forms/enter-key.ts';
import { createOneAtATime } from '../../../forms/one-at-a-time.ts';
import { UnsavedChanges } from '../../../forms/unsaved-changes.tsx';
import { validate, serverErrors, type FormErrors } from '../../../forms/validate.ts';
import { errorMessage } from '../../../components/states.tsx';
import { ButtonLink } from '../../../components/button-link.tsx';
import { Panel } from '../../../components/panel.tsx';
import type { Webhook } from '../parts/queries.ts';
import { bodyOf, draftOf, isChanged, secretOf, type Draft } from './draft.ts';
import { completeSubscriptions } from './draft-filters.ts';
import classes from './form.module.css';
import { Preview } from './preview.tsx';
import { Signing } from './signing.tsx';
import { EventTree } from './event-tree.tsx';
import { Endpoint } from './endpoint.tsx';

/** `generated` is the new secret if the browser generated it. */
export type SaveRequest = {
  body: ReturnType<typeof bodyOf>;
  generated: string | null;
  thenTest: boolean;
};

type FormProps = {
  /** The webhook to edit; undefined for a new one. */
  webhook?: Webhook;
  /** Resolves or rejects when the request has ended. */
  onSave: (request: SaveRequest) => Promise<unknown>;
  pending: boolean;
  /** The error of the last request. */
  error: unknown;
};

/**
 * The form of a webhook: endpoint, events, signing and status, with a preview. Only the buttons at the end and Ctrl+Enter
 * save. Leaving it with changes asks for confirmation.
 */
export function WebhookForm({ webhook, onSave, pending, error }: FormProps) {
  const { draft, isDirty, errors, change, submit } = useDraft(webhook, error, onSave);
  const subscriptions = useMemo(() => completeSubscriptions(draft.events), [draft.events]);
  const wrong = Object.keys(errors).length;
  const onSubmit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    const by = event.nativeEvent.submitter;
    submit(by instanceof HTMLButtonElement && by.value === 'test');
  };
  return (
    // The keys are those of its fields.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions
    <form
      onSubmit={onSubmit}
      onKeyDown={onKeyDown}
      noValidate
      aria-label={webhook ? 'Webhook' : 'New webhook'}
    >
      <UnsavedChanges isChanged={isDirty && !pending} />
      <div className={classes['columns']}>
        <div className={classes['parts']}>
          <Endpoint draft={draft} errors={errors} change={change} isNew={webhook === undefined} />
          <EventTree events={draft.events} errors={errors} onChange={(events) => change({ events })} />
          <Signing draft={draft} errors={errors} webhook={webhook} change={change} />
          {webhook?.status === 'disabled' ? null : <ActiveSwitch draft={draft} change={change} />}
        </div>
        <div className={classes['aside']}>
          <Preview events={subscriptions} />
        </div>
      </div>
      <div className={classes['foot']}>
        <Button
          type="submit"
          variant="default"
          value="save"
          loading={pending}
          title="Ctrl+Enter"
          aria-keyshortcuts="Control+Enter"
        >
          {webhook ? 'Save' : 'Create webhook'}
        </Button>
        <Button type="submit" value="test" loading={pending}>
          {webhook ? 'Save and send test event' : 'Create and send test event'}
        </Button>
        {webhook ? (
          <ButtonLink
            variant="subtle"
            to="/settings/integrations/webhooks/$webhookId"
            params={{ webhookId: webhook.id }}
          >
            Cancel
          </ButtonLink>
        ) : (
          <ButtonLink variant="subtle" to="/settings/integrations/webhooks">
            Cancel
          </ButtonLink>
        )}
        <Text size="sm" role="alert" c="var(--mantine-color-error)">
          {footerText(wrong, error)}
        </Text>
      </div>
    </form>
  );
}

function onKeyDown(event: KeyboardEvent<HTMLFormElement>): void {
  const { target, currentTarget: form, nativeEvent } = event;
  // A dialog is outside the form, but its events arrive here, too.
  if (!(target instanceof Node) || !form.contains(target)) return;
  const action = actionOfKey(nativeEvent, target instanceof HTMLInputElement);
  if (action === 'default') return;
  event.preventDefault();
  // A value that the same key added to a field belongs to the saved draft.
  if (action === 'save') setTimeout(() => form.requestSubmit());
}

type SwitchProps = { draft: Draft; change: (members: Partial<Draft>) => void };

function ActiveSwitch({ draft, change }: SwitchProps) {
  return (
    <Panel title="Status">
      <Switch
        label="Active"
        description="An inactive webhook sends only test events. New events are skipped"
        checked={draft.active}
        onChange={(event) => change({ active: event.currentTarget.checked })}
      />
    </Panel>
  );
}

function footerText(wrong: number, error: unknown): string {
  if (wrong > 0) return wrong === 1 ? 'Fix 1 error above' : `Fix ${wrong} errors above`;
  return error ? errorMessage(error) : '';
}

/**
 * Returns the draft and its errors: after the first submit, the validation errors of each change, and those of the
 * server.
 */
function useDraft(webhook: Webhook | undefined, refusal: unknown, onSave: FormProps['onSave']) {
  const [saveOnce] = useState(createOneAtATime);
  const [initial] = useState(() => draftOf(webhook));
  const [draft, setDraft] = useState(initial);
  const [isSubmitted, setIsSubmitted] = useState(false);
  const [sent, setSent] = useState<Draft | null>(null);
  const fromSchema = validate(webhook ? webhookEdit : webhookPlan, bodyOf(draft, webhook));
  // Server errors belong to the submitted draft, not to a later one.
  const fromServer = sent === draft ? serverErrors(refusal) : {};
  const errors: FormErrors = isSubmitted ? { ...fromServer, ...fromSchema } : {};
  return {
    draft,
    isDirty: isChanged(draft, initial),
    errors,
    change: (members: Partial<Draft>) => setDraft((before) => ({ ...before, ...members })),
    submit(thenTest: boolean) {
      setIsSubmitted(true);
      setSent(draft);
      if (Object.keys(fromSchema).length > 0) return showFirstError();
      const generated = draft.secretMode === 'generate' ? (secretOf(draft) ?? null) : null;
      saveOnce(() => onSave({ body: bodyOf(draft, webhook), generated, thenTest }));
    },
  };
}

/** Runs after the messages are rendered beside their fields. */
function showFirstError(): void {
  requestAnimationFrame(() => {
    const first = document.querySelector<HTMLElement>(
      'form [aria-invalid="true"], form fieldset [role="alert"]',
    );
    first?.scrollIntoView({ block: 'center' });
    first?.focus({ preventScroll: true });
  });
}
