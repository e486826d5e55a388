import { Modal, Select, Stack, Text, TextInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { Role } from '../../../../src/domain/people/access.ts';
import { rolesToInvite, invitationPlan } from '../../../../src/domain/people/invitation.ts';
import { answered, api, type Schemas } from '../../../api/client.ts';
import { useSession } from '../../../api/session.ts';
import { ShownOnce } from '../../../components/shown-once.tsx';
import { FormFoot } from '../../../forms/form-foot.tsx';
import { useApiForm } from '../../../forms/use-api-form.ts';
import { invitationsQuery } from './queries.ts';
import { ROLE_WORDS } from './roles.ts';

type NewInvitation = Schemas['NewInvitation'];

const FIRST: { email: string; role: Role } = { email: '', role: 'member' };

/** What became of the mail, in words. */
const MAIL_WORDS: Readonly<Record<NewInvitation['mail'], string>> = {
  sent: 'The link was also sent by e-mail.',
  pending: 'The link is also being sent by e-mail.',
  failed: 'The e-mail could not be sent. Pass on the link yourself.',
  off: 'No mail server is configured. Pass on the link yourself.',
};

/** Invites somebody, and shows the link once. */
export function Invite({ onClose }: { onClose: () => void }) {
  const { me } = useSession();
  const queryClient = useQueryClient();
  const [made, setMade] = useState<NewInvitation | null>(null);
  const { form, problem, isSending, onSubmit } = useApiForm({
    initialValues: FIRST,
    schema: invitationPlan,
    bodyOf: (values) => values,
    send: (body) => answered(api.POST('/api/v1/invitations', { body })),
    onDone(invitation) {
      void queryClient.invalidateQueries({ queryKey: invitationsQuery.queryKey });
      setMade(invitation);
    },
  });
  return (
    <Modal
      opened
      onClose={onClose}
      title={made ? 'Invitation created' : 'Invite member'}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      {made ? (
        <Stack gap="sm">
          <ShownOnce value={made.url} label="Invitation link">
            The link works once, for {made.email}, within 7 days. It is shown only once.
          </ShownOnce>
          <Text size="sm">{MAIL_WORDS[made.mail]}</Text>
        </Stack>
      ) : (
        <form onSubmit={onSubmit} noValidate>
          <Stack gap="sm">
            <TextInput label="E-mail" type="email" required data-autofocus {...form.getInputProps('email')} />
            <Select
              label="Role"
              allowDeselect={false}
              data={rolesToInvite(me.role ?? 'viewer').map((role) => ({
                value: role,
                label: `${role} – ${ROLE_WORDS[role]}`,
              }))}
              {...form.getInputProps('role')}
            />
            <FormFoot act="Create invitation" isSending={isSending} problem={problem} />
          </Stack>
        </form>
      )}
    </Modal>
  );
}
