import type { Admission } from '../../src/gateway/admission.ts';

/** Returns the admission of a client with a token of a caller. */
export function admitted(release: () => void = () => {}): Extract<Admission, { ok: true }> {
  return {
    ok: true,
    claims: {
      origin: 'outside',
      subject: 'x',
      projectId: 'p',
      scopes: [],
      expiresAt: new Date('2100-01-01'),
    },
    holder: { workspaceId: 'w', projectId: 'p', scopes: [], actor: 'token:x', label: 'token:x' },
    release,
  };
}
