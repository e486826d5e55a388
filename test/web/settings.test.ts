import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { MAX_PAGE } from '../../src/domain/common/limits.ts';
import { eventually } from '../support/eventually.ts';
import { addPerson, storeKeys } from '../support/people.ts';
import { PASSWORD, useWorld } from '../support/world.ts';
import { assertAccessible, clickUntilAnswered, DIALOG, openScreens, picture, useScreens } from './screens.ts';

describe('the settings screens', () => {
  const world = useWorld();
  const at = useScreens(world);

  it('create an API key, show it once, rotate and revoke it', async () => {
    const { page } = at;
    const opened = Promise.withResolvers<void>();
    // The projects arrive after the form.
    await page.route(/\/projects\?/, (route) => opened.promise.then(() => route.continue()));
    await at.go('/settings/api-keys');
    await page.getByRole('button', { name: 'Create key' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').waitFor();
    opened.resolve();
    await page.unrouteAll({ behavior: 'wait' });
    const chosen = dialog.getByLabel('Project').locator('option:checked', { hasText: 'First' });
    await chosen.waitFor({ state: 'attached' });
    await dialog.getByRole('button', { name: 'Create key' }).click();
    await dialog.getByText('Must have at least 1 character.').waitFor();
    await assertAccessible(page, 'the form of a key', DIALOG);
    await picture(page, 'key-new');
    await dialog.getByLabel('Name').fill('CI');
    await dialog.getByRole('checkbox', { name: 'send events' }).check();
    await dialog.getByRole('button', { name: 'Create key' }).click();
    const key = await page.getByLabel('API key', { exact: true }).textContent();
    const { json } = await world.send('GET', '/api/v1/me', { key });
    assert.deepEqual(json.scopes, ['tasks:read', 'tasks:write', 'events:write']);
    // A click beside the dialog does not lose the key.
    await page.mouse.click(5, 5);
    await page.getByLabel('API key', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Close' }).click();
    const row = page.getByRole('row', { name: /CI/ });
    await row.getByRole('button', { name: 'Rotate…' }).click();
    const overlap = page.getByRole('dialog').getByLabel('Overlap in hours');
    await overlap.fill('');
    await page.getByRole('button', { name: 'Rotate key' }).click();
    await page.getByText('Enter whole hours from 0 to 720.').waitFor();
    await overlap.fill('1');
    await page.getByText('Enter whole hours').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Rotate key' }).click();
    await page.getByText('It is shown only once').waitFor();
    await page.getByRole('button', { name: 'Close' }).click();
    await page.getByText('replaced', { exact: true }).waitFor();
    await page.setViewportSize({ width: 390, height: 844 });
    const revoke = page.getByRole('button', { name: 'Revoke…' }).first();
    await eventually('Revoke is on the screen of a phone', async () => {
      const box = await revoke.boundingBox();
      return box !== null && box.x >= 0 && box.x + box.width <= 390;
    });
    await assertAccessible(page, 'the keys on a phone');
    await page.setViewportSize({ width: 1280, height: 900 });
    for (const status of [/CI.*replaced/, /CI.*active/]) {
      const valid = page.getByRole('row', { name: status });
      await valid.getByRole('button', { name: 'Revoke…' }).click();
      await page.getByText('Revoke “CI”?').waitFor();
      await page.getByRole('button', { name: 'Revoke key' }).click();
      await dialog.waitFor({ state: 'detached' });
      assert.equal(await valid.count(), 0);
    }
    assert.equal(await page.getByRole('row', { name: /CI.*revoked/ }).count(), 2);
  });

  it('do not lose a new key or invitation with a response, or by closing the dialog before it', async () => {
    const { page } = at;
    await at.go('/settings/api-keys');
    await page.getByRole('button', { name: 'Create key' }).click();
    await page.getByLabel('Name').fill('Never lost');
    await page.getByLabel('Expiration').selectOption('In 30 days');
    const shown = page.getByLabel('API key', { exact: true });
    const { key } = await clickUntilAnswered(page, 'Create key', '**/api/v1/keys');
    assert.equal(await shown.textContent(), key);
    await page.getByRole('button', { name: 'Close' }).click();
    await page
      .getByRole('row', { name: /Never lost/ })
      .getByRole('button', { name: 'Rotate…' })
      .click();
    const { key: rotated = '' } = await clickUntilAnswered(page, 'Rotate key', '**/rotate');
    assert.equal(await shown.textContent(), rotated);
    assert.equal((await world.send('GET', '/api/v1/me', { key: rotated })).status, 200);
    await page.getByRole('button', { name: 'Close' }).click();
    await page.getByRole('row', { name: /Never lost.*replaced/ }).waitFor();
    assert.equal(await page.getByRole('row', { name: /Never lost/ }).count(), 2);
    await at.go('/settings/members');
    await page.getByRole('button', { name: 'Invite member' }).click();
    await page.getByRole('dialog').getByLabel('E-mail').fill(`zed-${randomUUID()}@example.com`);
    const { url } = await clickUntilAnswered(page, 'Create invitation', '**/api/v1/invitations');
    assert.equal(await page.getByLabel('Invitation link').textContent(), url);
  });

  it('remove a member, with the keys that the member created unless they are kept', async () => {
    const { page } = at;
    const owner = world.as(await world.signIn());
    const joined = async (name: string) => {
      const email = `${name.toLowerCase()}-${randomUUID()}@example.com`;
      const member = { email, name, role: 'admin', password: PASSWORD };
      await world.send('POST', '/api/v1/members', { ...owner, body: member });
      const body = { name: `Key of ${name}`, project_id: world.installation.project_id };
      const as = world.as(await world.signIn(email));
      return (await world.send('POST', '/api/v1/keys', { ...as, body })).json;
    };
    const [kept, revoked] = [await joined('Kim'), await joined('Rob')];
    await at.go('/settings/members');
    const dialog = page.getByRole('dialog');
    const ask = async (name: string) => {
      await page.getByRole('row', { name }).getByRole('button', { name: 'Remove…' }).click();
      await dialog.getByRole('row', { name: new RegExp(`Key of ${name}.*never`) }).waitFor();
    };
    const removed = async (name: string) => {
      await dialog.getByRole('button', { name: 'Remove member' }).click();
      await dialog.waitFor({ state: 'hidden' });
      await page.getByRole('row', { name }).waitFor({ state: 'hidden' });
    };
    await ask('Rob');
    await dialog.getByText(`${revoked.prefix}…`).waitFor();
    assert.ok(await dialog.getByRole('checkbox', { name: 'Revoke their API keys' }).isChecked());
    await assertAccessible(page, 'the removal of a member', DIALOG);
    await picture(page, 'member-remove');
    await removed('Rob');
    await ask('Kim');
    await dialog.getByRole('checkbox', { name: 'Revoke their API keys' }).uncheck();
    await removed('Kim');
    await at.go('/settings/api-keys');
    await page.getByRole('row', { name: /Key of Kim.*by Kim \(removed\).*active/ }).waitFor();
    await page.getByRole('row', { name: /Key of Rob.*revoked/ }).waitFor();
    assert.equal((await world.send('GET', '/api/v1/tasks', { key: kept.key })).status, 200);
    assert.equal((await world.send('GET', '/api/v1/tasks', { key: revoked.key })).status, 401);
  });

  it('list all keys of a member before the removal, also more than a page', async () => {
    const { page } = at;
    const body = { email: `zoe-${randomUUID()}@example.com`, name: 'Zoe', role: 'admin' };
    const { json: zoe } = await world.send('POST', '/api/v1/members', {
      ...world.as(await world.signIn()),
      body,
    });
    await storeKeys(world, zoe.id, MAX_PAGE + 1);
    await at.go('/settings/members');
    await page.getByRole('row', { name: 'Zoe' }).getByRole('button', { name: 'Remove…' }).click();
    const rows = page.getByRole('dialog').getByRole('row', { name: /^Key \d/ });
    await rows.first().waitFor();
    assert.equal(await rows.count(), MAX_PAGE + 1);
  });

  it('show admins the audit log, with filters', async () => {
    const { page } = at;
    const body = { name: 'Nightly build', project_id: world.installation.project_id };
    await world.send('POST', '/api/v1/keys', { ...world.as(await world.signIn()), body });
    await at.go('/settings/audit-log');
    const created = page.getByRole('row', { name: /created an API key.*Nightly build/ });
    await created.waitFor();
    await page.getByRole('button', { name: 'Target' }).click();
    await page.getByRole('checkbox', { name: 'session' }).check();
    await page.keyboard.press('Escape');
    await page
      .getByRole('row', { name: /signed in/ })
      .first()
      .waitFor();
    assert.equal(await created.count(), 0);
    assert.equal(new URL(page.url()).search, '?what=session');
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await created.getByRole('link', { name: world.installation.admin_email }).click();
    await page.getByLabel('Actor').selectOption({ label: 'System' });
    await page.getByRole('row', { name: /system.*created this installation/ }).waitFor();
    assert.equal(await created.count(), 0);
    await page.getByLabel('Period').selectOption({ label: 'Last 7 days' });
    assert.equal(new URL(page.url()).search, '?who=system&since=week');
    await page.reload();
    await page.getByText('created this installation').waitFor();
    const viewer = await addPerson(world, await world.signIn(), 'viewer');
    const theirs = await openScreens(world, { cookie: viewer });
    await theirs.go('/settings/audit-log');
    await theirs.page.getByText('Admins only').waitFor();
    assert.deepEqual(theirs.errors(), []);
    await theirs.close();
  });

  it('invite a person, who joins with the link', async () => {
    const { page } = at;
    const ada = `ada-${randomUUID()}@example.com`;
    await at.go('/settings/members');
    await page.getByRole('button', { name: 'Invite member' }).click();
    await page.getByRole('dialog').getByLabel('E-mail').fill(ada);
    await page.getByRole('button', { name: 'Create invitation' }).click();
    const link = (await page.getByLabel('Invitation link').textContent()) ?? '';
    await assertAccessible(page, 'a created invitation', DIALOG);
    await page.locator('button:focus', { hasText: 'Copy' }).waitFor();
    await page.mouse.click(5, 5);
    await page.getByLabel('Invitation link').waitFor();
    await page.getByRole('button', { name: 'Close' }).click();
    await page.locator('button:focus', { hasText: 'Invite member' }).waitFor();
    await page.getByRole('region', { name: 'Invitations' }).getByText(ada).waitFor();

    const guest = await openScreens(world, { cookie: null });
    await guest.go(new URL(link).pathname + new URL(link).hash);
    await guest.page.getByRole('heading', { name: 'Join Test' }).waitFor();
    await guest.page.getByLabel('Your name').fill('Ada');
    await guest.page.getByLabel('Password', { exact: true }).fill('a long enough password');
    await guest.page.getByRole('button', { name: 'Join' }).click();
    await guest.page.getByRole('heading', { name: 'Orchestration' }).waitFor();
    assert.deepEqual(guest.errors(), []);
    await guest.close();

    await page.reload();
    await page.getByRole('row', { name: /Ada/ }).waitFor();
    const role = page.getByLabel('Role of Ada');
    assert.equal(await role.inputValue(), 'member');
    const owner = page.getByRole('row', { name: world.installation.admin_email });
    await owner.getByText('The last owner must stay.').waitFor();
    assert.equal(await owner.getByRole('button').or(owner.getByRole('combobox')).count(), 0);
    await assertAccessible(page, 'the last owner');
    await role.selectOption('owner');
    await owner.getByRole('button', { name: 'Remove…' }).waitFor();
    assert.equal(await owner.getByRole('combobox').inputValue(), 'owner');
    // Leaving the page before the response would abort the request.
    const changed = page.waitForResponse((response) => response.request().method() === 'PATCH');
    await role.selectOption('viewer');
    assert.equal((await changed).status(), 200);
    await page.reload();
    assert.equal(await page.getByLabel('Role of Ada').inputValue(), 'viewer');
    await page.getByRole('row', { name: /Ada/ }).getByRole('button', { name: 'Remove…' }).click();
    await page.getByRole('button', { name: 'Remove member' }).click();
    await page.getByRole('row', { name: /Ada/ }).waitFor({ state: 'detached' });
  });

  it('accept an invitation with the password of an existing account', async () => {
    const email = `grace-${randomUUID()}@example.com`;
    const owner = world.as(await world.signIn());
    const invite = (role: string) =>
      world.send('POST', '/api/v1/invitations', { ...owner, body: { email, role } });
    const token = new URL((await invite('viewer')).json.url).hash.slice(1);
    const accepted = { token, name: 'Grace', password: PASSWORD };
    await world.send('POST', '/api/v1/invitations/accept', { key: null, body: accepted });
    const { json: members } = await world.send('GET', '/api/v1/members', owner);
    const { id } = members.data.find((member: { email: string }) => member.email === email);
    await world.send('DELETE', `/api/v1/members/${id}`, owner);
    const invited = await invite('admin');
    const guest = await openScreens(world, { cookie: null });
    const { page } = guest;
    await guest.go(`/invitation${new URL(invited.json.url).hash}`);
    await page.getByText(`invited ${email} as admin.`).waitFor();
    assert.equal(await page.getByLabel('Your name').count(), 0);
    await assertAccessible(page, 'the invitation of an existing user');
    await page.getByLabel('Password', { exact: true }).fill('not the password');
    await page.getByRole('button', { name: 'Join' }).click();
    await page.getByRole('alert').waitFor();
    await assertAccessible(page, 'the invitation of an existing user, rejected');
    await page.getByLabel('Password', { exact: true }).fill(PASSWORD);
    await page.getByRole('button', { name: 'Join' }).click();
    await page.waitForURL('**/orchestration');
    await page.getByRole('link', { name: 'API keys' }).click();
    await page.getByRole('button', { name: 'Create key' }).waitFor();
    assert.deepEqual(guest.errors(), []);
    await guest.close();
  });

  it('create a project', async () => {
    const { page } = at;
    await at.go('/settings/projects');
    await page.getByRole('button', { name: 'Create project' }).click();
    await page.getByLabel('Name').fill('Web shop');
    await page.getByRole('dialog').getByRole('button', { name: 'Create project' }).click();
    await page.getByRole('row', { name: /Web shop/ }).waitFor();
    await page.getByRole('button', { name: 'Create project' }).click();
    await page.getByLabel('Name').fill('Another');
    await page.getByLabel('Key').fill('WEBSHOP');
    await page.getByRole('dialog').getByRole('button', { name: 'Create project' }).click();
    await page.getByText('already has a project with the key WEBSHOP').waitFor();
  });

  it('have compact rows, also in the next visit, if the person chooses them', async () => {
    const { page } = at;
    await at.go('/settings/projects');
    const row = page.getByRole('row').nth(1);
    const height = async () => (await row.boundingBox())?.height ?? Number.NaN;
    await row.waitFor();
    const comfortable = await height();
    const choose = async (title: string) => {
      await page.getByRole('button', { name: 'Appearance' }).click();
      await page.getByRole('menuitem', { name: title }).click();
    };
    await choose('Compact');
    await eventually('the row is lower', async () => (await height()) < comfortable);
    const compact = await height();
    await page.reload();
    await row.waitFor();
    assert.equal(await height(), compact);
    await choose('Comfortable');
    await eventually('the row is as before', async () => (await height()) === comfortable);
  });

  it('show the agents, their teams and backends', async () => {
    const { page } = at;
    await at.go('/settings/agents');
    await page
      .getByRole('row', { name: /architect/ })
      .getByText('rehearsal, without a model')
      .waitFor();
    await page.getByText('design (architect) · implement (developer)').waitFor();
  });

  it('list sessions, end them, and change the password', async () => {
    const { page } = at;
    await world.signIn();
    await at.go('/settings/account');
    await page.getByText('this session').waitFor();
    await page.getByRole('button', { name: 'End all other sessions' }).click();
    await page.getByRole('button', { name: 'End all other sessions' }).waitFor({ state: 'detached' });
    assert.equal(await page.getByRole('row').count(), 2);
    await page.getByLabel('Current password', { exact: true }).fill('wrong');
    await page.getByLabel('New password', { exact: true }).fill('another good long password');
    await page.getByRole('button', { name: 'Change password' }).click();
    await page.getByText('Is wrong.').waitFor();
  });

  it('show a viewer no actions without permission', async () => {
    const viewer = await openScreens(world, {
      cookie: await addPerson(world, await world.signIn(), 'viewer'),
    });
    const { page } = viewer;
    await viewer.go('/orchestration');
    await page.getByText('No runs yet').waitFor();
    assert.equal(await page.getByRole('button', { name: 'Submit task' }).count(), 0);
    await viewer.go('/settings/api-keys');
    await page.getByText('Only admins can see API keys').waitFor();
    await viewer.go('/settings/members');
    await page.getByRole('row', { name: world.installation.admin_email }).waitFor();
    assert.equal(await page.getByRole('button', { name: /Remove|Invite/ }).count(), 0);
    assert.deepEqual(viewer.errors(), []);
    await viewer.close();
  });
});
