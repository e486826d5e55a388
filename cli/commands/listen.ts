import { type Command, Option } from 'commander';
import type { RelayRequest } from '../../src/domain/channel/channel.ts';
import { FAILURES_TO_DISABLE } from '../../src/domain/common/limits.ts';
import { contextOf } from '../context.ts';
import { describeWebhook } from '../describe-webhook.ts';
import { CliError, EXIT } from '../exit-codes.ts';
import { forwardAddress } from '../forward-address.ts';
import { createForwarder, type Forwarded } from '../forwarder.ts';
import type { Api } from '../http.ts';
import { ioOf } from '../io.ts';
import { listen } from '../listen.ts';
import { duration, fields, type Output, printable, styled } from '../output.ts';
import type { Webhook } from '../shapes.ts';
import { type EventOptions, subscriptionsOf } from '../webhook-options.ts';

type Options = { forward: string; events: string; filter?: string[]; name?: string };
type Made = Webhook & { secret: string };

const LISTENERS = '/api/v1/listeners';
/** When a response is usually recorded, and how often this is checked, in milliseconds. */
const RECORDED_MS = 1_000;
const LOOKS = 30;
const HELP = `
The address can be 4000, localhost:4000/hook or https://localhost:8443/.
Filters are written as in \`baton webhook create\`.
The webhook is deleted on Ctrl-C, or one minute after this command stops.`;

/** `baton listen` */
export function addListenCommand(program: Command): void {
  program
    .command('listen')
    .description('Forward events to a local address while the command runs')
    .requiredOption('--forward <address>', 'where to forward events; the service does not need to reach it')
    .option('--events <kinds>', 'event kinds separated by commas, for example issue.*,sprint.started', 'all')
    .addOption(
      new Option(
        '--filter <filter...>',
        'only events that match: [KIND:]FIELD=VALUE,… or [KIND:]FIELD->VALUE',
      ),
    )
    .option('--name <text>', 'name of the webhook')
    .addHelpText('after', HELP)
    .action(async (options: Options, command: Command) => {
      const address = forwardAddress(options.forward);
      const events = await subscriptionsOf(eventsOf(options), ioOf(command));
      const context = contextOf(command);
      const api = context.api();
      // The first Ctrl-C removes the webhook; the second ends the command at once.
      const io = ioOf(command);
      const signal = AbortSignal.any([io.abortedBy(['SIGINT', 'SIGTERM', 'SIGHUP']), io.unread]);
      const projectId = await projectForToken(api);
      const body = { name: options.name, events, forward_to: address };
      const made = await api.call<Made>('POST', LISTENERS, { body });
      try {
        await forwardAll(api, context.output, { made, address, projectId, signal });
      } finally {
        await remove(api, context.output, made.id);
      }
      if (io.unread.aborted) io.exitCode = EXIT.unread;
    });
}

function eventsOf({ events, filter }: Options): EventOptions {
  return { event: [events], ...(filter === undefined ? {} : { filter }) };
}

/**
 * A token belongs to one project, although listening needs none. A key has its own project; for users any project
 * works.
 */
async function projectForToken(api: Api): Promise<string | undefined> {
  const me = await api.call<{ kind: string }>('GET', '/api/v1/me');
  if (me.kind !== 'person') return undefined;
  const { data } = await api.call<{ data: { id: string }[] }>('GET', '/api/v1/projects');
  return data[0]?.id;
}

type Forwarding = { made: Made; address: string; projectId: string | undefined; signal: AbortSignal };

async function forwardAll(api: Api, output: Output, forwarding: Forwarding): Promise<void> {
  const { made, address, projectId, signal } = forwarding;
  const { secret, ...webhook } = made;
  const watchDisabling = createDisablingWatch(api, output, made.id);
  const forwarder = createForwarder(address, signal, (request, forwarded) => {
    show(output, request, forwarded);
    watchDisabling(forwarded.succeeded);
  });
  let isLost = false;
  output.line(describeWebhook(webhook));
  output.line(`\n${fields([['Secret', secret]])}\n`);
  try {
    await listen(api, {
      webhookId: made.id,
      projectId,
      signal,
      onListening() {
        if (!isLost) output.jsonLine({ type: 'ready', webhook, secret });
        output.line(isLost ? 'Listening again' : `Ready: forwarding to ${address} (Ctrl-C to stop)`);
        isLost = false;
      },
      onLost(reason) {
        if (!isLost) output.note(`${reason}; retrying`);
        isLost = true;
      },
      onRequest: forwarder.forward,
      onLate: ({ delivery_id: id }) => output.note(`The response to ${id} came too late`),
      onRefused: ({ delivery_id: id }, reason) =>
        output.note(`The service refused the response to ${id}: ${reason}`),
    });
  } finally {
    await forwarder.close();
  }
}

function show(
  output: Output,
  { event, delivery_id }: RelayRequest,
  { answer, succeeded, duration_ms }: Forwarded,
) {
  const outcome = 'status' in answer ? String(answer.status) : `${answer.failure}: ${answer.message}`;
  const time = new Date().toISOString();
  const colour = succeeded ? 'green' : 'red';
  output.line(
    `${time}  ${printable(event)}  ${delivery_id}  ${styled(colour, printable(outcome))}  ${duration(duration_ms)}`,
  );
  const status = 'status' in answer ? answer.status : null;
  const failure = 'status' in answer ? null : answer.failure;
  output.jsonLine({ type: 'request', at: time, event, delivery_id, status, failure, duration_ms });
}

/** Reports that the webhook was disabled after failures in a row; no deliveries arrive then. */
function createDisablingWatch(api: Api, output: Output, id: string): (succeeded: boolean) => void {
  let failures = 0;
  let timer: NodeJS.Timeout | undefined;
  const look = async (looksLeft: number) => {
    const { status } = await api.call<Webhook>('GET', `/api/v1/webhooks/${id}`);
    if (failures < FAILURES_TO_DISABLE) return;
    if (status !== 'disabled') return lookSoon(looksLeft - 1);
    failures = 0;
    output.note(
      `${FAILURES_TO_DISABLE} failures in a row disabled the webhook. Enable it with \`baton webhook edit ${id} --active\``,
    );
  };
  /** Called later, when the last response is recorded. */
  const lookSoon = (looks: number) => {
    clearTimeout(timer);
    if (looks > 0) timer = setTimeout(() => void look(looks).catch(() => {}), RECORDED_MS).unref();
  };
  return (succeeded) => {
    failures = succeeded ? 0 : failures + 1;
    lookSoon(failures >= FAILURES_TO_DISABLE ? LOOKS : 0);
  };
}

async function remove(api: Api, output: Output, id: string): Promise<void> {
  try {
    await api.call('DELETE', `/api/v1/webhooks/${id}`);
    output.line('Webhook deleted');
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    // A rejection means that somebody else has deleted it.
    if (error.exitCode === EXIT.unavailable)
      output.note(`${error.message}; the service will delete the webhook soon`);
  }
}
