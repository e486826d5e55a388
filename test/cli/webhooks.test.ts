import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { eventually } from '../support/eventually.ts';
import { useWorld } from '../support/world.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { describeWebhooks } from '../../cli/describe-webhook.ts';
import { type Cli, cliWith } from './cli-process.ts';

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/;
const SECRET = /^[0-9a-f]{64}$/;

describe('the command line for webhooks', function () {
  const world = useWorld();
  let cli: Cli;
  let receiver: Receiver;

  beforeEach(async () => {
    cli = cliWith({ BATON_URL: world.api.url, BATON_API_KEY: world.installation.api_key });
    receiver = await startReceiver();
  });
  afterEach(async () => {
    for (const { id } of (await cli.json(['webhook', 'list', '--no-stats'])).data)
      await cli.json(['webhook', 'delete', id]);
    await cli.cleanUp();
    await receiver.close();
  });

  const create = (...more: string[]) =>
    cli.json(['webhook', 'create', '--name', 'Orders', '--to', `${receiver.url}/hook`, ...more]);
  const sendSample = (event = 'issue.created') => cli.json(['event', 'send', '--event', event, '--sample']);
  const log = async (webhook: string, ...more: string[]) =>
    (await cli.json(['delivery', 'list', '--webhook', webhook, ...more])).data;
  const signed = (secret: string, body: Buffer) =>
    `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;

  /** Waits until the only delivery of a webhook is in the state. Returns it. */
  const only = (webhook: string, status: string) =>
    eventually(`the delivery is ${status}`, async () => {
      const [found, ...others] = await log(webhook);
      assert.equal(others.length, 0);
      return found?.status === status && found;
    });

  describe('webhook create', () => {
    it('creates a secret, shows it once, and signs with it', async () => {
      const created = await create('--event', 'issue.created');
      assert.match(created.secret, SECRET);
      await sendSample();
      const [request] = await receiver.receives(1);
      assert.equal(
        request?.headers['x-service-signature'],
        signed(created.secret, request?.body ?? Buffer.of()),
      );
      for (const command of [['show', created.id], ['list']]) {
        const { stdout } = await cli.run(['webhook', ...command, '--json']);
        assert.ok(stdout.includes(created.id) && !stdout.includes(created.secret));
      }
      assert.ok(!world.logged().includes(created.secret));
    });

    it('shows the created webhook in a table', async () => {
      const args = ['--event', 'issue.*', '--filter', 'issue.updated:status->Done', '--standard-webhooks'];
      const { code, stdout } = await cli.run(
        ['webhook', 'create', '--name', 'Größe', '--to', receiver.url].concat(args),
      );
      assert.equal(code, 0);
      assert.match(stdout, /Name +Größe\n/);
      assert.match(stdout, /Status +active\n/);
      assert.match(stdout, /issue\.updated +status->Done\n/);
      assert.match(stdout, /Secret +[0-9a-f]{64}\n +The secret is not shown again\.\n$/);
    });

    it('accepts a secret from stdin and does not show it', async () => {
      const args = ['--event', 'all', '--secret-file', '-'];
      const creating = ['webhook', 'create', '--name', 'Mine', '--to', receiver.url, '--json'].concat(args);
      // Uses a separate process with a real pipe.
      const { stdout } = await cli.spawn(creating, { input: 'my own secret\n' }).ended;
      const created = JSON.parse(stdout);
      assert.deepEqual([created.has_secret, 'secret' in created, created.events.length], [true, false, 10]);
      await sendSample();
      const [request] = await receiver.receives(1);
      assert.equal(
        request?.headers['x-service-signature'],
        signed('my own secret', request?.body ?? Buffer.of()),
      );
    });

    it('can create a webhook without a secret, and inactive', async () => {
      const created = await create('--event', 'issue.created', '--no-secret', '--inactive');
      assert.deepEqual([created.has_secret, created.status, 'secret' in created], [false, 'inactive', false]);
    });

    it('shows the errors of the service for each member', async () => {
      const { code, stderr } = await cli.run([
        'webhook',
        'create',
        '--name',
        'x',
        '--to',
        'ftp://example.com',
        '--event',
        'issue.exploded',
      ]);
      assert.equal(code, 5);
      assert.match(stderr, /\n {2}\/url: /);
      assert.match(stderr, /\n {2}\/events\/0\/event: /);
      assert.doesNotMatch(stderr, /[0-9a-f]{64}/);
    });
  });

  describe('event send', () => {
    it('sends exact bytes to the receiver, and reports a repeated event', async () => {
      await create('--event', 'issue.created');
      const data = '{ "issue": {"id":"i-1", "estimate":1.50e1,  "x":12345678901234567890} }';
      const args = ['event', 'send', '--event', 'issue.created', '--id', 'e-1', '--data', data];
      const { code, stdout } = await cli.run(args);
      assert.deepEqual([code, stdout], [0, 'e-1 accepted\n']);
      const [request] = await receiver.receives(1);
      assert.ok(request?.body.toString().endsWith(`"data":${data}}`));
      assert.equal((await cli.run(args)).stdout, 'e-1 already sent\n');
    });

    it('sends a file of lines as one request', async () => {
      await create('--event', 'all');
      const events = ['project.created', 'user.joined'].map((event) => {
        const object = event.split('.')[0] ?? '';
        return JSON.stringify({ id: `l-${event}`, event, data: { [object]: { id: '1' } } });
      });
      const answer = await cli.json(['event', 'send', '--file', '-'], { input: events.join('\n') });
      assert.deepEqual(answer.data, [
        { id: 'l-project.created', duplicate: false },
        { id: 'l-user.joined', duplicate: false },
      ]);
      const kinds = (await receiver.receives(2)).map(({ headers }) => headers['x-service-event']);
      assert.deepEqual(kinds.toSorted(), ['project.created', 'user.joined']);
    });

    it('leaves the validation of the data to the service', async () => {
      const { code, stderr } = await cli.run(['event', 'send', '--event', 'issue.created', '--data', '{}']);
      assert.equal(code, 5);
      assert.match(stderr, /issue/);
    });
  });

  it('lists the event kinds, and shows one with schema and sample', async () => {
    const { stdout } = await cli.run(['event-types']);
    assert.equal(stdout.trim().split('\n').length, 11);
    assert.match(stdout, /^issue\.moved +\S/m);
    const kind = await cli.json(['event-types', 'sprint.started']);
    assert.equal(kind.sample.event, 'sprint.started');
    const unknown = await cli.run(['event-types', 'x.y']);
    assert.equal(unknown.code, 2);
    assert.match(unknown.stderr, /is not an event kind. Kinds: issue\.created, /);
  });

  it('lists webhooks with a sparkline of their last 24 hours', async () => {
    const { id } = await create('--event', 'issue.created');
    const { stdout: quiet } = await cli.run(['webhook', 'list']);
    assert.match(quiet, /^WEBHOOK +STATUS +NAME +LAST 24 HOURS +OK +LAST DELIVERY +EVENTS +URL\n/);
    assert.match(quiet, new RegExp(`^${id} +active +Orders +·{24} +- +- +issue.created +http`, 'm'));
    await sendSample();
    await only(id, 'succeeded');
    assert.match((await cli.run(['webhook', 'list'])).stdout, / ·{23}█ +100 % +\S+Z +issue\.created +http/);
    assert.match((await cli.run(['webhook', 'show', id])).stdout, /·{23}█ {2}1 attempt, 100 % succeeded\n/);
    const { stats, ...webhook } = (await cli.json(['webhook', 'list'])).data[0];
    assert.equal(stats.total, 1);
    const [heading = '', ...rows] = describeWebhooks([webhook, webhook], [stats, undefined]).split('\n');
    const columns = rows.map((row) => row.indexOf('http'));
    assert.deepEqual(columns, [heading.indexOf('URL'), heading.indexOf('URL')], 'also without statistics');
  });

  describe('webhook test', () => {
    it('shows the response, and exits with 0 or 1', async () => {
      const { id } = await create('--event', 'sprint.started');
      const well = await cli.run(['webhook', 'test', id]);
      assert.deepEqual([well.code, receiver.requests[0]?.headers['x-service-event']], [0, 'sprint.started']);
      assert.match(well.stdout, new RegExp(`^Delivery +${UUID.source}\\n`));
      assert.match(well.stdout, /Outcome +204\n/);
      receiver.answering((_request, response) => void response.writeHead(500).end('ouch\u001B[2J'));
      const badly = await cli.spawn(['webhook', 'test', id, '--event', 'issue.moved']).ended;
      assert.deepEqual([badly.code, receiver.requests[1]?.headers['x-service-event']], [1, 'issue.moved']);
      assert.match(badly.stdout, /\nResponse 500\n[^]*\n {2}ouch\uFFFD/);
    });
  });

  it('edits only the given members of a webhook', async () => {
    const created = await create('--event', 'issue.created');
    const edited = await cli.json([
      'webhook',
      'edit',
      created.id,
      '--name',
      'Other',
      '--description',
      'For CI',
      '--inactive',
    ]);
    assert.deepEqual([edited.name, edited.status, edited.url], ['Other', 'inactive', created.url]);
    assert.deepEqual([created.description, edited.description], [null, 'For CI']);
    assert.match((await cli.run(['webhook', 'show', created.id])).stdout, /Description +For CI\n/);
    const args = [
      'webhook',
      'edit',
      created.id,
      '--active',
      '--event',
      'issue.updated',
      '--filter',
      'type=Bug',
    ];
    const again = await cli.json(args);
    assert.deepEqual(
      [again.name, again.status, again.events],
      ['Other', 'active', [{ event: 'issue.updated', filters: [{ field: 'type', values: ['Bug'] }] }]],
    );
    const withHeader = ['webhook', 'edit', created.id, '--include-secret-header'];
    const refused = await cli.run(withHeader);
    assert.equal(refused.code, 5);
    assert.match(refused.stderr, /`secret` is required to send it to a new URL/);
    const known = await cli.json([...withHeader, '--secret-file', '-'], { input: `${created.secret}\n` });
    assert.equal(known.include_secret_header, true);
    await cli.json(['webhook', 'edit', created.id, '--no-include-secret-header']);
    assert.equal((await cli.run([...withHeader, '--secret-file', '-', '--no-secret'])).code, 2);
    const unsigned = await cli.json(['webhook', 'edit', created.id, '--no-secret']);
    assert.equal(unsigned.has_secret, false);
  });

  it('rotates a secret, and deliveries have both signatures during the overlap', async () => {
    const created = await create('--event', 'issue.created');
    const { code, stdout } = await cli.run(['webhook', 'rotate-secret', created.id, '--overlap-hours', '1']);
    assert.equal(code, 0);
    const [, fresh = ''] = /Secret +([0-9a-f]{64})\n/.exec(stdout) ?? [];
    await sendSample();
    const [request] = await receiver.receives(1);
    const body = request?.body ?? Buffer.of();
    assert.equal(request?.headers['x-service-signature'], signed(fresh, body));
    assert.equal(request?.headers['x-service-signature-previous'], signed(created.secret, body));
    const ownSecret = await cli.json(['webhook', 'rotate-secret', created.id, '--secret-file', '-'], {
      input: 'own',
    });
    assert.equal('secret' in ownSecret, false);
  });

  it('shows why an event was not sent, and previews filters', async () => {
    const { id } = await create('--event', 'issue.updated', '--filter', 'status->Done');
    await sendSample('issue.updated');
    const { reason } = await only(id, 'skipped');
    assert.match(reason, /status/);
    assert.match(
      (await cli.run(['delivery', 'list', '--webhook', id])).stdout,
      /skipped +issue\.updated.*status/,
    );
    const [verdict] = (await cli.json(['webhook', 'preview', id])).data;
    assert.deepEqual([verdict.verdict, verdict.event], ['skip', 'issue.updated']);
    const preview = await cli.run(['webhook', 'preview', '--event', 'issue.updated', '--limit', '1']);
    assert.match(preview.stdout, /^VERDICT +EVENT.*\nsend +issue\.updated/);
  });

  describe('for deliveries', () => {
    it('lists by state, kind, text and time', async () => {
      const { id } = await create('--event', 'all');
      await sendSample('issue.created');
      await sendSample('user.joined');
      await eventually(
        'both deliveries are recorded',
        async () => (await log(id, '--status', 'succeeded')).length === 2,
      );
      const kinds = async (...more: string[]) =>
        (await log(id, ...more)).map(({ event }: { event: string }) => event).toSorted();
      assert.deepEqual(await kinds('--status', 'succeeded,failed'), ['issue.created', 'user.joined']);
      assert.deepEqual(await kinds('--status', 'held', 'failed'), []);
      assert.deepEqual(await kinds('--event', 'user.joined'), ['user.joined']);
      assert.deepEqual(await kinds('--text', 'SHOP-142'), ['issue.created']);
      assert.deepEqual(await kinds('--since', '1h'), ['issue.created', 'user.joined']);
      assert.deepEqual(await kinds('--until', '1h'), []);
      const page = await cli.json(['delivery', 'list', '--webhook', id, '--limit', '1']);
      assert.deepEqual(await kinds('--limit', '1', '--cursor', page.next_cursor), ['issue.created']);
    });

    it('retries manually, and shows all attempts', async () => {
      const { id } = await create('--event', 'issue.created');
      receiver.answering(503);
      await sendSample();
      const delivery = await only(id, 'retrying');
      receiver.answering(204);
      const { code, stdout } = await cli.run(['delivery', 'retry', delivery.id]);
      assert.deepEqual([code, stdout], [0, `${delivery.id} will be retried now\n`]);
      await only(id, 'succeeded');
      const shown = await cli.run(['delivery', 'show', delivery.id]);
      assert.match(shown.stdout, /\n1 +automatic +\S+ +503 /);
      assert.match(shown.stdout, /\n2 +manual +\S+ +204 /);
      assert.match(shown.stdout, /Attempt 2\n/);
      assert.match(shown.stdout, new RegExp(`POST ${receiver.url}/hook\\n`));
      assert.match(shown.stdout, /x-service-signature: sha256=[0-9a-f]{64}\n/);
      assert.match(
        (await cli.run(['delivery', 'show', delivery.id, '--attempt', '1'])).stdout,
        /Response 503\n/,
      );
      const later = await cli.run(['delivery', 'retry', delivery.id, '--at', '2h']);
      assert.match(later.stdout, /will be retried at \d{4}-/);
      const [{ scheduled_at: at }] = await log(id);
      assert.ok((await cli.run(['delivery', 'show', delivery.id])).stdout.includes(`Scheduled retry  ${at}`));
      assert.ok((await cli.run(['delivery', 'list', '--webhook', id])).stdout.includes(at));
      const cancelled = await cli.run(['delivery', 'cancel-retry', delivery.id]);
      assert.deepEqual(
        [cancelled.code, cancelled.stdout],
        [0, `The scheduled retry of ${delivery.id} is cancelled\n`],
      );
      assert.equal((await log(id))[0].scheduled_at, null);
    });

    it('recovers deliveries since a time', async () => {
      const { id } = await create('--event', 'issue.created', '--inactive');
      await sendSample();
      await only(id, 'skipped');
      const refused = await cli.run(['delivery', 'recover', id, '--since', '1h', '--status', 'skipped']);
      assert.deepEqual([refused.code, receiver.requests.length], [5, 0]);
      await cli.json(['webhook', 'edit', id, '--active']);
      const none = await cli.json(['delivery', 'recover', id, '--since', '1h']);
      assert.deepEqual(none, { count: 0 });
      const { stdout } = await cli.run([
        'delivery',
        'recover',
        id,
        '--since',
        '1h',
        '--status',
        'held,skipped',
      ]);
      assert.equal(stdout, '1 delivery queued\n');
      await receiver.receives(1);
      await only(id, 'succeeded');
    });
  });

  it('deletes a webhook', async () => {
    const { id } = await create('--event', 'issue.created');
    const { stdout } = await cli.run(['webhook', 'delete', id]);
    assert.match(stdout, UUID);
    assert.equal((await cli.run(['webhook', 'show', id])).code, 5);
    assert.equal((await cli.run(['webhook', 'list'])).stdout, 'No webhooks\n');
  });

  it('delivers to `baton receiver`, which verifies the signature', async () => {
    const secret = 'between us';
    cli.env['BATON_WEBHOOK_SECRET'] = secret;
    const localReceiver = cli.spawn(['receiver', '--http', '--port', '0']);
    const [, url = ''] = await localReceiver.says(/deliveries at (http:\/\/localhost:\d+\/)/);
    const args = ['webhook', 'create', '--name', 'Here', '--to', url, '--event', 'issue.created'];
    await cli.json([...args, '--secret-file', '-'], { input: secret });
    const { id } = await sendSample();
    await localReceiver.says(
      new RegExp(`issue\\.created ${id} delivery ${UUID.source} {2}signature verified`),
    );
    localReceiver.child.kill('SIGTERM');
    assert.equal((await localReceiver.ended).code, 0);
  });

  const wrong: ReadonlyArray<readonly [what: string, args: readonly string[], code: number, RegExp]> = [
    ['an invalid webhook id', ['webhook', 'show', '../keys'], 2, /not a valid webhook id/],
    ['an unknown webhook', ['webhook', 'show', '01980000-0000-7000-8000-000000000000'], 5, /not_found/],
    ['an invalid delivery id', ['delivery', 'show', 'x/y'], 2, /not a valid delivery id/],
    ['an empty change', ['webhook', 'edit', '01980000'], 2, /Nothing to change/],
    ['both states', ['webhook', 'edit', '0198', '--active', '--inactive'], 2, /either --active/],
    [
      'a webhook without events',
      ['webhook', 'create', '--name', 'x', '--to', 'http://x'],
      2,
      /--event or --events/,
    ],
    ['a missing time', ['delivery', 'recover', '0198'], 2, /--since/],
    ['an invalid time', ['delivery', 'retry', '0198', '--at', 'noon'], 2, /--at must be an ISO 8601 time/],
  ];
  for (const [what, args, code, message] of wrong) {
    it(`reports ${what}`, async () => {
      const done = await cli.run(args);
      assert.deepEqual([done.code, done.stdout], [code, '']);
      assert.match(done.stderr, message);
      assert.doesNotMatch(done.stderr, /\n +at /);
    });
  }
});
