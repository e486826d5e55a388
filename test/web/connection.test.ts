import assert from 'node:assert/strict';
import { canUpdate, connectionAfter, type Connection } from '../../web/api/connection-state.ts';
import { waitingText } from '../../web/components/waiting-text.ts';
import { useWorld } from '../support/world.ts';
import { assertAccessible, assertFitsPhone, openScreens, useScreens } from './screens.ts';

describe('what loads for long', () => {
  it('is explained by the connection', () => {
    assert.match(waitingText('connected'), /has not responded yet/);
    assert.match(waitingText('offline'), /You are offline/);
    assert.match(waitingText('unreachable'), /Cannot reach the server/);
  });
});

describe('the connection of the screens', () => {
  const after = (state: Connection['state'], event: Parameters<typeof connectionAfter>[1]) =>
    connectionAfter({ state, lastDataAt: 1 }, event);

  it('is lost without a network or a response, and found with any response', () => {
    assert.deepEqual(after('connected', { type: 'offline' }), { state: 'offline', lastDataAt: 1 });
    assert.deepEqual(after('connected', { type: 'silence' }), { state: 'unreachable', lastDataAt: 1 });
    assert.deepEqual(after('unreachable', { type: 'data', at: 2 }), { state: 'connected', lastDataAt: 2 });
    assert.deepEqual(after('unreachable', { type: 'problem' }), { state: 'connected', lastDataAt: 1 });
    assert.deepEqual(after('offline', { type: 'online' }), { state: 'connected', lastDataAt: 1 });
  });

  it('brings changes over a live channel without the API, and by requests only from it', () => {
    assert.equal(canUpdate('connected', false), true);
    assert.equal(canUpdate('unreachable', true), true);
    assert.equal(canUpdate('unreachable', false), false);
    assert.equal(canUpdate('offline', true), false);
  });

  it('is still offline if a request gets no response', () => {
    assert.equal(after('offline', { type: 'silence' }).state, 'offline');
  });
});

describe('the screens without a connection', () => {
  const world = useWorld();
  const at = useScreens(world);

  it('say so, with the age of the data, until the network is back', async () => {
    const { page } = at;
    await at.go('/settings/members');
    const banner = page.getByRole('status', { name: 'Connection' });
    await page.getByRole('table').first().waitFor();
    assert.equal(await banner.textContent(), '');
    await page.context().setOffline(true);
    await banner.getByText(/^You are offline · last update (just now|\d+ s ago)$/).waitFor();
    await assertAccessible(page, 'a page without a network');
    await assertFitsPhone(page);
    const [header, status] = [await page.getByRole('banner').boundingBox(), await banner.boundingBox()];
    assert.ok(
      header && status && status.y >= header.y && status.y + status.height <= header.y + header.height,
    );
    await page.context().setOffline(false);
    await banner.getByText('You are offline').waitFor({ state: 'detached' });
  });

  it('say so if the server does not respond', async () => {
    const screens = await openScreens(world);
    const banner = screens.page.getByRole('status', { name: 'Connection' });
    // The list is read again within this time.
    const readAgain = () => screens.page.clock.fastForward(6_000);
    await screens.page.clock.install();
    await screens.go('/orchestration');
    await screens.page.getByText('No runs yet').waitFor();
    await screens.page.route('**/api/v1/**', (route) => route.abort('internetdisconnected'));
    await readAgain();
    await banner.getByText(/^Cannot reach the server · last update/).waitFor();
    await screens.page.unrouteAll();
    await readAgain();
    await banner.getByText('Cannot reach the server').waitFor({ state: 'detached' });
    await screens.close();
  });

  it('replace placeholders with a message if loading takes long', async () => {
    const { page } = at;
    const answered = Promise.withResolvers<void>();
    await page.route('**/api/v1/tasks?*', (route) => answered.promise.then(() => route.continue()));
    await at.go('/orchestration');
    const loading = page.getByRole('status', { name: 'Loading' });
    await loading.getByText('Still loading. The server has not responded yet.').waitFor();
    await assertAccessible(page, 'a list that loads for long');
    answered.resolve();
    await page.getByText('No runs yet').waitFor();
    assert.equal(await loading.count(), 0);
  });
});
