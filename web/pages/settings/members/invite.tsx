import { NativeSelect, Stack, Text, TextInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { INVITATION_MS } from '../../../../src/domain/common/limits.ts';
import type { Role } from '../../../../src/domain/people/access.ts';
import { rolesToInvite, invitationPlan } from '../../../../src/domain/people/invitation.ts';
import { unwrap, api, type Schemas } from '../../../api/client.ts';
import { useSession } from '../../../api/session.ts';
import { ShownOnce } from '../../../components/shown-once.tsx';
import { createRequestKeys } from '../../../forms/request-key.ts';
import { FormFooter } from '../../../forms/form-footer.tsx';
import { useApiForm } from '../../../forms/use-api-form.ts';
import { invitationsQuery } from './queries.ts';
import { ROLE_DESCRIPTIONS } from './roles.ts';
import { Dialog } from '../../../components/dialog.tsx';

type NewInvitation = Schemas['NewInvitation'];

const DAY_MS = 86_400_000;

const INITIAL_VALUES: { email: string; role: Role } = { email: '', role: 'member' };

/** The status of the e-mail as text. */
const MAIL_STATUS_TEXTS: Readonly<Record<NewInvitation['mail'], string>> = {
  sent: 'The link was also sent by e-mail.',
  pending: 'The link is also being sent by e-mail.',
  failed: 'The e-mail could not be sent. Send the link yourself.',
  off: 'No mail server is configured. Send the link yourself.',
};

/** Invites a member and shows the link once. */
export function Invite({ onClose }: { onClose: () => void }) {
  const { me } = useSession();
  const queryClient = useQueryClient();
  const [keyOf] = useState(() => createRequestKeys());
  const [created, setCreated] = useState<NewInvitation | null>(null);
  const { form, problem, isSending, onSubmit } = useApiForm({
    initialValues: INITIAL_VALUES,
    schema: invitationPlan,
    bodyOf: (values) => values,
    send: (body) =>
      unwrap(
        api.POST('/api/v1/invitations', { params: { header: { 'Idempotency-Key': keyOf(body) } }, body }),
      ),
    onDone(invitation) {
      void queryClient.invalidateQueries({ queryKey: invitationsQuery.queryKey });
      setCreated(invitation);
    },
  });
  return (
    <Dialog
      opened
      onClose={onClose}
      title={created ? 'Invitation created' : 'Invite member'}
      isPending={isSending}
      closeOnClickOutside={created === null}
    >
      {created ? (
        <Stack gap="sm">
          <ShownOnce value={created.url} label="Invitation link">
            Send this link to {created.email} only: anyone with the link can accept the invitation. It works
            once, within {INVITATION_MS / DAY_MS} days. Copy it now. It is shown only once.
          </ShownOnce>
          <Text size="sm">{MAIL_STATUS_TEXTS[created.mail]}</Text>
        </Stack>
      ) : (
        <form onSubmit={onSubmit} noValidate>
          <Stack gap="sm">
            <TextInput
              label="E-mail address"
              type="email"
              required
              data-autofocus
              {...form.getInputProps('email')}
            />
            <NativeSelect
              label="Role"
              description={ROLE_DESCRIPTIONS[form.values.role]}
              data={rolesToInvite(me.role ?? 'viewer')}
              {...form.getInputProps('role')}
            />
            <FormFooter submitLabel="Create invitation" isSending={isSending} problem={problem} />
          </Stack>
        </form>
      )}
    </Dialog>
  );
}
