import type { PayloadCodec } from '@temporalio/common';
import type { Logger } from 'pino';
import type { Catalogue } from '../agents/catalogue.ts';
import type { Database } from '../database/database.ts';
import type { KeyCache } from '../database/people/key-cache.ts';
import type { Notifications } from '../database/common/notifications.ts';
import type { ChannelMetrics } from '../domain/channel/channel.ts';
import type { Mailer } from '../mail/mailer.ts';
import type { AddressGuard } from '../outbound/address-guard.ts';
import type { Sealing } from '../security/sealing.ts';
import type { Tokens } from '../security/tokens.ts';
import type { DeliveryControl } from '../temporal/delivery-control.ts';
import type { TaskControl } from '../temporal/task-control.ts';
import type { Gatherer } from './events/gatherer.ts';
import type { Answered } from './http/access-log.ts';
import type { Answer, Route } from './http/route.ts';
import type { TraceRequest } from './http/trace-requests.ts';
import type { OpenIdSignIn } from './account/openid/sign-in.ts';
import type { PasswordAttempts } from './account/session/password-attempts.ts';

/** Everything the API works with; made at a root. */
export type Dependencies = {
  database: Database;
  /** Who works on tasks. */
  catalogue: Catalogue;
  control: TaskControl;
  deliveryControl: DeliveryControl;
  notifications: Notifications;
  knownKeys: KeyCache;
  sealing: Sealing;
  /** Judges the addresses that webhooks may be sent to. */
  guard: AddressGuard;
  /** The most webhooks of a workspace. */
  webhooksPerWorkspace: number;
  tokens: Tokens;
  /** Of the live channel; null where this process does not carry it. */
  channelNumbers: () => ChannelMetrics | null;
  log: Logger;
  clock: () => Date;
  /** The public address without a slash at its end. */
  baseUrl: string;
  /** Where the built screens lie. */
  screensFolder: string;
  /** The Temporal Web UI, without a slash at its end, and the namespace of the runs; null where nobody has told. */
  temporalUi: { url: string; namespace: string } | null;
  rateLimit: { perSecond: number; burst: number };
  /** Of events, which have a limit of their own. */
  eventsRateLimit: { perSecond: number; burst: number };
  /** Sign-ins of one address. */
  signInsPerMinute: number;
  passwordAttempts: PasswordAttempts;
  /** Null where no OpenID provider is configured. */
  openId: OpenIdSignIn | null;
  /** Of Temporal's payloads; null where they are not encrypted. Without a token only people may have them opened. */
  codec: { payloads: PayloadCodec; token: string | null } | null;
  /** Null where no mail server is configured. */
  mailer: Mailer | null;
  gatherer: Gatherer;
  /** Where callbacks and deliveries come from, ranges of one address each. */
  sourceAddresses: readonly string[];
  /** Aborted when the service stops. */
  stopping: AbortSignal;
  onAnswer?: (route: Route, answer: Answer) => void;
  /** Works on each request within a trace; absent where none are kept. */
  traceRequest?: TraceRequest | undefined;
  /** Told of every request whose answer is out. */
  onRequest?: ((answered: Answered) => void) | undefined;
  /** Told of events that were taken in. */
  onEvents?: ((taken: { sent: number; duplicate: number }) => void) | undefined;
};
