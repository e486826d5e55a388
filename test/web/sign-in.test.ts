import assert from 'node:assert/strict';
import { useOwnWorld, useWorld } from '../support/world.ts';
import { CLIENT, startOpenIdProvider, type TestProvider } from '../support/openid-provider.ts';
import { assertAccessible, picture, useScreens } from './screens.ts';

describe('a sign-in in the browser', () => {
  const world = useWorld();
  const at = useScreens(world, { cookie: null });

  it('leads to the requested page', async () => {
    const { page } = at;
    await at.go('/orchestration?state=failed,escalated');
    await page.waitForURL('**/sign-in?to=*');
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    assert.equal(await page.getByText('Your session has ended').count(), 0);
    await page.locator('[name=email]:focus').waitFor();
    await at.signIn();
    await page.waitForURL('**/orchestration?state=failed,escalated');
    await page.getByRole('heading', { name: 'Orchestration' }).waitFor();
  });

  it('never leads to another site', async () => {
    for (const target of ['//evil.example.com', '/\\evil.example.com']) {
      await at.go(`/sign-in?to=${encodeURIComponent(target)}`);
      await at.signIn();
      await at.page.waitForURL(`${world.api.url}/orchestration`);
      await at.page.context().clearCookies();
    }
  });

  it('reports a wrong password', async () => {
    await at.go('/sign-in');
    await at.signIn(world.installation.admin_email, 'not the password');
    await at.page.getByRole('alert').getByText('Wrong e-mail address or password.').waitFor();
    await at.page.getByText('Forgot your password? Ask an admin of your workspace for a new one.').waitFor();
    await assertAccessible(at.page, 'the sign-in page after a wrong password');
  });

  it('reports an error of the identity provider', async () => {
    await at.go('/sign-in?problem=not_invited');
    await at.page.getByText('You are not a member of any workspace.').waitFor();
    await assertAccessible(at.page, 'the sign-in page with a problem');
  });

  it('is requested when the session has ended, and returns to the page', async () => {
    const { page } = at;
    await page.clock.install();
    await at.go('/orchestration');
    await at.signIn();
    await page.getByText('No runs yet').waitFor();
    await page.context().clearCookies();
    // The list is read again within this time.
    await page.clock.fastForward(15_000);
    await page.getByText('Your session has ended').waitFor();
    await at.signIn();
    await page.waitForURL('**/orchestration');
    await page.getByText('No runs yet').waitFor();
  });

  it('ends in all tabs with a sign-out in one', async () => {
    const { page } = at;
    await at.go('/sign-in');
    await at.signIn();
    await page.waitForURL('**/orchestration');
    const other = await page.context().newPage();
    await other.goto(`${world.api.url}/settings/projects`);
    await other.getByText('FIRST', { exact: true }).first().waitFor();
    await page.getByRole('button', { name: /^Account of/ }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.waitForURL('**/sign-in');
    await other.waitForURL('**/sign-in?to=*');
    await other.close();
  });
});

describe('a sign-in with an OpenID provider in the browser', () => {
  let provider: TestProvider;
  const world = useOwnWorld(async () => {
    provider = await startOpenIdProvider();
    const environment = {
      OIDC_ISSUER: provider.issuer,
      OIDC_CLIENT_ID: CLIENT.id,
      OIDC_CLIENT_SECRET: CLIENT.secret,
      OIDC_NAME: 'Acme',
      SIGN_INS_PER_MINUTE: '1000',
    };
    return { worker: false, environment };
  });
  before(() => provider.open(`${base()}/api/v1/openid/callback`));
  after(() => provider?.close());
  const at = useScreens(world, { cookie: null });

  // The base URL of the service is localhost, and the provider redirects to no other name.
  const base = () => world.api.url.replace('127.0.0.1', 'localhost');
  const continueWithAcme = () => at.page.getByRole('link', { name: 'Continue with Acme' }).click();

  it('leads to the requested page, and is recorded in the audit log', async () => {
    const { page } = at;
    provider.signsIn('owner', { email: 'owner@example.com', email_verified: true, name: 'Olga' });
    await page.goto(`${base()}/orchestration?state=failed,escalated`);
    await page.waitForURL('**/sign-in?to=*');
    await page.getByRole('link', { name: 'Continue with Acme' }).waitFor();
    await assertAccessible(page, 'the sign-in page with an identity provider');
    await picture(page, 'sign-in-openid');
    await continueWithAcme();
    await page.waitForURL(`${base()}/orchestration?state=failed,escalated`);
    await page.getByRole('heading', { name: 'Orchestration' }).waitFor();
    await page.getByRole('button', { name: /^Account of/ }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.waitForURL('**/sign-in');
    const { json } = await world.send('GET', '/api/v1/audit-log?limit=20', world.as(await world.signIn()));
    const started = json.data.findLast((entry: { action: string }) => entry.action === 'session.started');
    assert.deepEqual(started.detail, { by: 'openid' });
  });

  it('reports a cancelled sign-in and a missing invitation', async () => {
    const { page } = at;
    provider.signsIn(null);
    await page.goto(`${base()}/sign-in`);
    await continueWithAcme();
    await page.getByText('Sign-in was cancelled').waitFor();
    provider.signsIn('stranger', { email: 'stranger@example.com', email_verified: true });
    await continueWithAcme();
    await page.getByText('You are not a member of any workspace.').waitFor();
  });
});
