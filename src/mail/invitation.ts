import { oneLine } from './one-line.ts';

/** What the mail about an invitation tells. */
export type InvitationNews = {
  /** Of who invites; null where that is not known. */
  inviter: string | null;
  workspace: string;
  role: string;
  expiresAt: Date;
  /** The link, which is a secret. */
  url: string;
};

/** Subject and text of the mail that brings somebody the link of an invitation. */
export function invitationMail({ inviter, workspace, role, expiresAt, url }: InvitationNews) {
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
