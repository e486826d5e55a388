import type { PayloadCodec } from '@temporalio/common';
import type { Logger } from 'pino';
import type { Catalogue } from '../agents/catalogue.ts';
import type { Database } from '../database/database.ts';
import type { RunStatus } from '../database/tasks/task-runs.ts';
import type { KeyCache } from '../database/people/key-cache.ts';
import type { Notifications } from '../database/common/notifications.ts';
import type { ChannelMetrics } from '../domain/channel/channel.ts';
import type { Mailer } from '../mail/mailer.ts';
import type { AddressGuard, AddressSet } from '../outbound/address-guard.ts';
import type { Sealing } from '../security/sealing.ts';
import type { Tokens } from '../security/tokens.ts';
import type { DeliveryControl } from '../temporal/delivery-control.ts';
import type { RunToStart, TaskControl } from '../temporal/task-control.ts';
import type { Admission } from './admission.ts';
import type { Batcher } from './events/batcher.ts';
import type { Starter } from './starter.ts';
import type { CompletedRequest } from './http/access-log.ts';
import type { RouteResponse, Route } from './http/route.ts';
import type { TraceRequest } from './http/trace-requests.ts';
import type { TraceMessage } from './mcp/message-traces.ts';
import type { OpenIdSignIn } from './account/openid/sign-in.ts';
import type { PasswordAttempts } from './account/session/password-attempts.ts';

/** The dependencies of the API, created by an entry point. */
export type Dependencies = {
  database: Database;
  /** The agents that work on tasks. */
  catalogue: Catalogue;
  control: TaskControl;
  deliveryControl: DeliveryControl;
  notifications: Notifications;
  /** Reads the status of a run; null if there is none. Requests that follow the same run share reads. */
  readRunStatus(executionId: string): Promise<RunStatus | null>;
  knownKeys: KeyCache;
  sealing: Sealing;
  /** Decides which addresses webhooks may be sent to. */
  guard: AddressGuard;
  /** Maximum number of webhooks of a workspace. */
  webhooksPerWorkspace: number;
  tokens: Tokens;
  /** The identity provider whose tokens are accepted in addition to our own; null if none is configured. */
  tokenIssuer: string | null;
  /** Returns the statistics of the live channel; null if this process does not serve it. */
  channelStatistics: () => ChannelMetrics | null;
  log: Logger;
  clock: () => Date;
  /** The public URL, without a trailing slash. */
  baseUrl: string;
  /** The folder of the built screens. */
  screensFolder: string;
  /** The Temporal Web UI, without a trailing slash, and the namespace of the runs; null if not configured. */
  temporalUi: { url: string; namespace: string } | null;
  rateLimit: { perSecond: number; burst: number };
  /** The separate limit for events. */
  eventsRateLimit: { perSecond: number; burst: number };
  /** Maximum sign-ins of one address in a minute. */
  signInsPerMinute: number;
  passwordAttempts: PasswordAttempts;
  /** Null if no OpenID provider is configured. */
  openId: OpenIdSignIn | null;
  /**
   * The codec of Temporal's payloads; null if they are not encrypted. Without a token only signed-in admins can use
   * it.
   */
  codec: { payloads: PayloadCodec; token: string | null } | null;
  /** Null if no mail server is configured. */
  mailer: Mailer | null;
  batcher: Batcher;
  /** Starts the workflows of accepted runs. */
  runStarter: Pick<Starter<RunToStart>, 'add'>;
  /** Starts the manual retries of webhooks, by their ids. */
  retryStarter: Pick<Starter<string>, 'add'>;
  admission: Admission;
  /** Source addresses of callbacks and deliveries, as ranges of one address each. */
  sourceAddresses: readonly string[];
  /** Proxies whose `X-Forwarded-For` counts. */
  trustedProxies: AddressSet;
  /** Aborted when the service shuts down. */
  stopping: AbortSignal;
  onResponse?: (route: Route, answer: RouteResponse) => void;
  /** Handles each request in a trace; undefined if tracing is off. */
  traceRequest?: TraceRequest | undefined;
  /** Handles each message of MCP in a trace; undefined if tracing is off. */
  traceMessage?: TraceMessage | undefined;
  /** Called after each completed request. */
  onRequest?: ((answered: CompletedRequest) => void) | undefined;
  /** Called after events were accepted. */
  onEvents?: ((taken: { sent: number; duplicate: number }) => void) | undefined;
};
