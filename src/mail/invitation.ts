import { oneLine } from './one-line.ts';

/** The content of an invitation mail. */
export type InvitationMail = {
  /** Name of the inviter; null if unknown. */
  inviter: string | null;
  workspace: string;
  role: string;
  expiresAt: Date;
  /** The link, which is a secret. */
  url: string;
};

/** Returns subject and text of the mail with an invitation link. */
export function invitationMail({ inviter, workspace, role, expiresAt, url }: InvitationMail) {
  const name = oneLine(workspace);
  const until = `${expiresAt.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
  const text = `Hello,

${oneLine(inviter ?? '') || 'An admin'} invites you to the workspace "${name}" on Baton, as ${role}.

Open this link to join. It works once and expires at ${until}:
${url}

Do not share the link. Anyone who has it can join in your place.
If you did not expect this mail, ignore it.
`;
  return { subject: `Invitation to ${name}`, text };
}
