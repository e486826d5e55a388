import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { TokenClaims } from '../../src/domain/people/access.ts';
import { createAdmissionControl } from '../../src/gateway/admission.ts';
import { TokenError, type Tokens } from '../../src/security/tokens.ts';
import { useInstallation } from '../support/installation.ts';

describe('the admission of connections', () => {
  const fresh = useInstallation();

  /** A token is the name of its owner, of which everything after a space is ignored, or the code of its rejection. */
  function open(limits = { perToken: 2, overall: 7 }) {
    const errors: unknown[] = [];
    const tokens = {
      async verify(token: string): Promise<TokenClaims> {
        if (token === 'token_expired') throw new TokenError('token_expired', 'it has expired');
        if (token === 'unreachable') throw new Error('no keys');
        const projectId = token === 'stranger' ? randomUUID() : fresh.installation.project_id;
        const subject = token.split(' ')[0] ?? '';
        return {
          origin: 'outside',
          subject,
          projectId,
          scopes: ['tasks:read'],
          expiresAt: new Date('2100-01-01'),
        };
      },
    } as Partial<Tokens> as Tokens;
    const onError = (error: unknown) => void errors.push(error);
    return { ...createAdmissionControl({ database: fresh.database, tokens, limits, onError }), errors };
  }
  type Control = ReturnType<typeof open>;
  const codeOf = async ({ admit }: Control, token: string | null) => {
    const admission = await admit(token);
    return admission.ok ? 'ok' : admission.code;
  };

  it('is for valid tokens with a holder', async () => {
    const control = open();
    for (const token of [null, '', 'stranger', 'x'.repeat(8_193)])
      assert.equal(await codeOf(control, token), 'token_invalid', String(token).slice(0, 10));
    assert.equal(await codeOf(control, 'token_expired'), 'token_expired');
    assert.deepEqual(control.errors, []);
    assert.equal(await codeOf(control, 'unreachable'), 'unavailable');
    assert.equal(control.errors.length, 1);
    const admission = await control.admit('owner');
    assert.ok(admission.ok);
    const { project_id: projectId, workspace_id: workspaceId } = fresh.installation;
    const label = 'token:owner';
    const holder = { projectId, workspaceId, scopes: ['tasks:read'], actor: label, label };
    assert.deepEqual(admission.holder, holder);
    assert.equal(admission.claims.projectId, projectId);
    const checked = await control.check('owner');
    assert.ok(typeof checked === 'object');
    assert.deepEqual(checked.holder, holder);
    assert.equal(await control.check('stranger'), 'token_invalid');
  });

  it('is limited for each token, for all tokens of an owner, and overall', async () => {
    const control = open();
    const first = await control.admit('owner');
    assert.equal(await codeOf(control, 'owner'), 'ok');
    assert.equal(await codeOf(control, 'owner'), 'too_many_connections');
    // 80 % of all places, rounded up.
    for (const token of ['owner 2', 'owner 2', 'owner 3', 'owner 3'])
      assert.equal(await codeOf(control, token), 'ok', token);
    assert.equal(await codeOf(control, 'owner 4'), 'too_many_connections');
    assert.equal(await codeOf(control, 'other'), 'ok');
    assert.equal(await codeOf(control, 'other'), 'too_many_connections');
    assert.ok(first.ok);
    first.release();
    assert.equal(await codeOf(control, 'owner'), 'ok');
    assert.equal(await codeOf(open({ perToken: 1, overall: 1 }), 'owner'), 'ok');
  });

  it('can be preceded by a check of the signature alone', async () => {
    const { isSigned } = open();
    for (const token of ['owner', 'stranger', 'x'.repeat(8_192)]) assert.ok(await isSigned(token));
    for (const token of ['token_expired', 'unreachable', 'x'.repeat(8_193)])
      assert.ok(!(await isSigned(token)));
  });
});
