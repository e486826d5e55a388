import { Button, Text } from '@mantine/core';
import { useMemo, useState, type SubmitEvent } from 'react';
import { webhookEdit, webhookPlan } from '../../../../src/domain/webhooks/webhook-plan.ts';
import { checked, refusedMembers, type FormErrors } from '../../../forms/check.ts';
import { sentenceOf } from '../../../components/states.tsx';
import { ButtonLink } from '../../../components/button-link.tsx';
import type { Webhook } from '../parts/queries.ts';
import { bodyOf, draftOf, triedSubscriptions, type Draft } from './draft.ts';
import classes from './form.module.css';
import { Preview } from './preview.tsx';
import { Proof } from './proof.tsx';
import { When } from './when.tsx';
import { Where } from './where.tsx';

export type SaveWish = { body: ReturnType<typeof bodyOf>; thenTest: boolean };

type FormProps = {
  /** The one that is changed; none for a new one. */
  webhook?: Webhook;
  onSave: (wish: SaveWish) => void;
  pending: boolean;
  /** Why the last saving was refused. */
  error: unknown;
};

/** Where, when, proof, and a preview beside them. Nothing is saved but by the buttons at the end. */
export function WebhookForm({ webhook, onSave, pending, error }: FormProps) {
  const { draft, errors, change, submit } = useDraft(webhook, error, onSave);
  const tried = useMemo(() => triedSubscriptions(draft), [draft]);
  const wrong = Object.keys(errors).length;
  const onSubmit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    const by = event.nativeEvent.submitter;
    submit(by instanceof HTMLButtonElement && by.value === 'test');
  };
  return (
    <form onSubmit={onSubmit} noValidate aria-label={webhook ? 'Webhook' : 'New webhook'}>
      <div className={classes['columns']}>
        <div className={classes['parts']}>
          <Where draft={draft} errors={errors} change={change} />
          <When events={draft.events} errors={errors} onChange={(events) => change({ events })} />
          <Proof draft={draft} errors={errors} webhook={webhook} change={change} />
        </div>
        <div className={classes['aside']}>
          <Preview events={tried} />
        </div>
      </div>
      <div className={classes['foot']}>
        <Button type="submit" variant="default" value="save" loading={pending}>
          Save
        </Button>
        <Button type="submit" value="test" loading={pending}>
          Save and send test
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
          {footWords(wrong, error)}
        </Text>
      </div>
    </form>
  );
}

function footWords(wrong: number, error: unknown): string {
  if (wrong > 0) return wrong === 1 ? 'Fix 1 error above' : `Fix ${wrong} errors above`;
  return error ? sentenceOf(error) : '';
}

/** The draft, and what is wrong with it: once somebody tried to save, at every change; and what the service refused. */
function useDraft(webhook: Webhook | undefined, refusal: unknown, onSave: (wish: SaveWish) => void) {
  const [draft, setDraft] = useState(() => draftOf(webhook));
  const [tried, setTried] = useState(false);
  const [sent, setSent] = useState<Draft | null>(null);
  const found = checked(webhook ? webhookEdit : webhookPlan, bodyOf(draft, webhook));
  // A refusal is about the draft that was sent, not about a later one.
  const theirs = sent === draft ? refusedMembers(refusal) : {};
  const errors: FormErrors = tried ? { ...theirs, ...found } : {};
  return {
    draft,
    errors,
    change: (members: Partial<Draft>) => setDraft((before) => ({ ...before, ...members })),
    submit(thenTest: boolean) {
      setTried(true);
      setSent(draft);
      if (Object.keys(found).length > 0) return showFirstError();
      onSave({ body: bodyOf(draft, webhook), thenTest });
    },
  };
}

/** After the sentences stand beside their fields. */
function showFirstError(): void {
  requestAnimationFrame(() => {
    const first = document.querySelector<HTMLElement>(
      'form [aria-invalid="true"], form fieldset [role="alert"]',
    );
    first?.scrollIntoView({ block: 'center' });
    first?.focus({ preventScroll: true });
  });
}
