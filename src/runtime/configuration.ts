import { isIPv4, isIPv6 } from 'node:net';
import { z } from 'zod';
import {
  CONCURRENT_ATTEMPTS,
  MAX_CONNECTIONS,
  MAX_CONNECTIONS_PER_TOKEN,
  MAX_HANDSHAKES,
  MAX_HANDSHAKES_PER_ADDRESS,
  MAX_WEBHOOKS,
} from '../domain/common/limits.ts';
import { isLoopback } from '../domain/common/loopback.ts';
import { createAddressSet } from '../outbound/address-guard.ts';
import { MAX_EVENTS_PER_REQUEST, SIGN_INS_PER_MINUTE } from '../domain/common/limits.ts';
import { modelName } from '../agents/agent-settings.ts';
import { parseKeyRing, type KeyRing } from '../security/key-ring.ts';
import type { IdentityProvider } from '../security/tokens.ts';

/** The configuration of a process, read once at startup. */
export type Configuration = {
  port: number;
  host: string;
  /** The public URL, without a trailing slash; null: `http://localhost:<port>`. */
  baseUrl: string | null;
  databaseUrl: string;
  temporalUiUrl: string | null;
  /** Prefix of all task queue names. */
  taskQueue: string;
  /** The version of the workers of this process; null if versions are not used. */
  version: WorkersVersion | null;
  sealingKeys: KeyRing;
  tokenKeys: KeyRing;
  /** The keys that encrypt payloads in Temporal; null if they are not encrypted. */
  payloadKeys: KeyRing | null;
  /** The token with which Temporal's command line decrypts payloads; null: only signed-in admins can. */
  codecToken: string | null;
  agentsFile: string;
  models: ModelSettings;
  /** The user of agents' programs; null if none is configured. */
  programsUser: { uid: number; gid: number } | null;
  /** Special address ranges that outgoing requests may reach, in CIDR form. */
  outboundAllow: string[];
  outboundCaFile: string | null;
  outboundProxy: string | null;
  /** The mail server; null if no mail is sent. */
  mail: { smtpUrl: string; from: string } | null;
  /** Never with versions: Temporal would run each eagerly started workflow in the API process that started it. */
  eagerStart: boolean;
  logLevel: LogLevel;
  /** Address of the metrics port; null if there is none. */
  metrics: { host: string; port: number } | null;
  /** Retention of ended runs, their events and their callback log, in days. */
  runsKeptDays: number;
  /** Retention of payloads, deliveries and notifications, in days. */
  keptDays: { payloads: number; deliveries: number; skipped: number; notifications: number };
  /** Maximum number of webhooks of a workspace. */
  webhooksPerWorkspace: number;
  /** Maximum number of concurrent delivery attempts in each process that sends webhooks. */
  attemptsAtOnce: { perWebhook: number; overall: number };
  /** Maximum number of accepted tasks and events that may wait while Temporal is unavailable. */
  mostWaiting: { tasks: number; events: number };
  /** Rate limit of one credential. */
  rateLimit: { perSecond: number; burst: number };
  /** Rate limit of events of one credential. */
  eventsRateLimit: { perSecond: number; burst: number };
  /** Maximum sign-ins of one address in a minute. */
  signInsPerMinute: number;
  /** Whether the API serves the live channel, or separate gateways do. */
  channelInApi: boolean;
  /** Maximum number of channel connections, for one token and in one process. */
  channelConnections: { perToken: number; overall: number };
  /** Maximum number of channel connections that have not authenticated, for one address and in one process. */
  channelHandshakes: { perAddress: number; overall: number };
  /** Source addresses of deliveries as documented for receivers: ranges of one address each, in CIDR form. */
  sourceAddresses: string[];
  /** Ranges of proxies whose `X-Forwarded-For` counts. */
  trustedProxies: string[];
  /** The external provider whose JWTs are accepted; null if there is none. */
  identityProvider: IdentityProvider | null;
  /** The OpenID provider for sign-in; null if there is none. */
  openId: OpenIdConfiguration | null;
};

/** A version of the code, as Temporal's Worker Versioning knows it: a build within a deployment. */
export type WorkersVersion = { deployment: string; build: string };

/** The settings for trying out agents. */
export type AgentSettings = Pick<
  Configuration,
  'agentsFile' | 'models' | 'programsUser' | 'outboundAllow' | 'outboundCaFile' | 'outboundProxy'
>;

/** The settings of the model providers. A key that is null is not sent. */
export type ModelSettings = {
  /** `provider/model` of agents that name no model; null if there is no default. */
  defaultModel: string | null;
  openai: { apiKey: string | null; baseUrl: string | null };
  anthropic: { apiKey: string | null; baseUrl: string | null };
  openaiCompatible: { apiKey: string | null; baseUrl: string | null };
  /** Number of history events after which an agent's workflow continues as a new one. */
  historyEvents: number;
};

/** An OpenID provider for sign-in. */
export type OpenIdConfiguration = {
  issuer: string;
  clientId: string;
  /** Null for a public client. */
  clientSecret: string | null;
  /** The label of the button. */
  name: string;
  /** E-mail domains whose verified users join by themselves; null if nobody does. */
  joining: { domains: string[]; role: 'viewer' | 'member' } | null;
};

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
type LogLevel = (typeof LOG_LEVELS)[number];

/**
 * Lists the missing and invalid variables, one sentence for each. Values are not shown, because they may be secret.
 */
export class ConfigurationError extends Error {
  override name = 'ConfigurationError';
}

const keyRing = z
  .string({ error: 'is missing: set one or more keys as id:base64of32bytes' })
  .transform((text, context) => {
    try {
      return parseKeyRing(text);
    } catch (error) {
      context.addIssue({
        code: 'custom',
        message: `is invalid: ${error instanceof Error ? error.message : ''}`,
      });
      return z.NEVER;
    }
  });

/** An address, optionally with a name in front of it in angle brackets; on one line. */
const MAIL_ADDRESS = /^(?:[^\s<>@,]+@[^\s<>@,]+|[^<>@,\p{Cc}]+ <[^\s<>@,]+@[^\s<>@,]+>)$/u;

/** Temporal treats a dot as the end of the deployment name. */
const DEPLOYMENT_FORM = /^[A-Za-z0-9_-]{1,100}$/;
const DEPLOYMENT_WORDS = '1–100 letters, digits, dashes or underscores';

/** The largest id of a user. The next one means "no user". */
const MAX_UID = 4_294_967_294;

/** The schema of each variable, with its default. */
export const environmentSchema = z.object({
  PORT: wholeNumber(0, 65_535).default(3000),
  HOST: z.string().default('127.0.0.1'),
  BASE_URL: url(['http:', 'https:']).optional(),
  DATABASE_URL: url(['postgres:', 'postgresql:']),
  TEMPORAL_UI_URL: url(['http:', 'https:']).optional(),
  BATON_TASK_QUEUE: z
    .string()
    .regex(/^[A-Za-z0-9._-]{1,100}$/, 'must be 1–100 letters, digits, dots, dashes or underscores')
    .default('baton'),
  BATON_BUILD_ID: z
    .string()
    .regex(/^[A-Za-z0-9._-]{1,200}$/, 'must be 1–200 letters, digits, dots, dashes or underscores')
    .optional(),
  BATON_DEPLOYMENT: z.string().regex(DEPLOYMENT_FORM, `must be ${DEPLOYMENT_WORDS}`).optional(),
  BATON_SEALING_KEYS: keyRing,
  BATON_TOKEN_KEYS: keyRing,
  BATON_PAYLOAD_KEYS: keyRing.optional(),
  BATON_CODEC_TOKEN: z
    .string()
    .regex(/^[\x21-\x7e]{32,500}$/, 'must be 32–500 visible ASCII characters')
    .optional(),
  AGENTS_FILE: z.string().default('agents.yml'),
  DEFAULT_MODEL: modelName.optional(),
  OPENAI_API_KEY: z.string().optional(),
  OPENAI_BASE_URL: url(['http:', 'https:']).optional(),
  ANTHROPIC_API_KEY: z.string().optional(),
  ANTHROPIC_BASE_URL: url(['http:', 'https:']).optional(),
  OPENAI_COMPATIBLE_API_KEY: z.string().optional(),
  OPENAI_COMPATIBLE_BASE_URL: url(['http:', 'https:']).optional(),
  AGENT_HISTORY_EVENTS: wholeNumber(50, 10_000).default(4_000),
  AGENT_PROGRAMS_UID: wholeNumber(0, MAX_UID).optional(),
  AGENT_PROGRAMS_GID: wholeNumber(0, MAX_UID).optional(),
  OUTBOUND_ALLOW: ranges().default([]),
  OUTBOUND_CA_FILE: z.string().optional(),
  OUTBOUND_PROXY: url(['http:']).optional(),
  SMTP_URL: url(['smtp:', 'smtps:'])
    .refine((text) => new URL(text).hostname !== '', { error: 'must name a host' })
    .refine((text) => ['', '?tls=optional'].includes(new URL(text).search), {
      error: 'can only end with ?tls=optional',
    })
    .optional(),
  MAIL_FROM: z
    .string()
    .regex(MAIL_ADDRESS, 'must be an address such as baton@example.com or Baton <baton@example.com>')
    .optional(),
  EAGER_START: z.enum(['true', 'false'], { error: 'must be true or false' }).default('true'),
  LOG_LEVEL: z.enum(LOG_LEVELS, { error: `must be one of ${LOG_LEVELS.join(', ')}` }).default('info'),
  METRICS_PORT: wholeNumber(1, 65_535).optional(),
  METRICS_HOST: z.string().default('127.0.0.1'),
  OTEL_EXPORTER_OTLP_ENDPOINT: url(['http:', 'https:']).optional(),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: url(['http:', 'https:']).optional(),
  RUNS_KEPT_DAYS: wholeNumber(1, 36_500).default(180),
  PAYLOADS_KEPT_DAYS: wholeNumber(1, 36_500).default(30),
  DELIVERIES_KEPT_DAYS: wholeNumber(1, 36_500).default(90),
  SKIPPED_KEPT_DAYS: wholeNumber(1, 36_500).default(7),
  NOTIFICATIONS_KEPT_DAYS: wholeNumber(1, 36_500).default(90),
  WEBHOOKS_PER_WORKSPACE: wholeNumber(1, 100_000).default(MAX_WEBHOOKS),
  ATTEMPTS_AT_ONCE_PER_WEBHOOK: wholeNumber(1, 1_000).default(CONCURRENT_ATTEMPTS),
  ATTEMPTS_AT_ONCE: wholeNumber(1, 10_000).default(1_000),
  MOST_WAITING_TASKS: wholeNumber(1, 1_000_000).default(10_000),
  MOST_WAITING_EVENTS: wholeNumber(1, 10_000_000).default(100_000),
  RATE_LIMIT_PER_SECOND: wholeNumber(1, 1_000_000).default(200),
  RATE_LIMIT_BURST: wholeNumber(1, 1_000_000).default(1_000),
  EVENTS_RATE_LIMIT_PER_SECOND: wholeNumber(1, 1_000_000).default(5_000),
  SIGN_INS_PER_MINUTE: wholeNumber(1, 1_000_000).default(SIGN_INS_PER_MINUTE),
  CHANNEL_IN_API: z.enum(['true', 'false'], { error: 'must be true or false' }).default('true'),
  CHANNEL_CONNECTIONS_PER_TOKEN: wholeNumber(1, 1_000_000).default(MAX_CONNECTIONS_PER_TOKEN),
  CHANNEL_CONNECTIONS: wholeNumber(1, 1_000_000).default(MAX_CONNECTIONS),
  CHANNEL_HANDSHAKES_PER_ADDRESS: wholeNumber(1, 1_000_000).default(MAX_HANDSHAKES_PER_ADDRESS),
  CHANNEL_HANDSHAKES: wholeNumber(1, 1_000_000).default(MAX_HANDSHAKES),
  SOURCE_ADDRESSES: addresses().default([]),
  TRUSTED_PROXIES: ranges().default([]),
  JWKS_URL: secureUrl().optional(),
  JWT_ISSUER: z.string().optional(),
  JWT_AUDIENCE: z.string().optional(),
  JWT_PROJECT_CLAIM: z.string().default('project_id'),
  JWT_SCOPE_CLAIM: z.string().default('scope'),
  OIDC_ISSUER: secureUrl().optional(),
  OIDC_CLIENT_ID: z.string().optional(),
  OIDC_CLIENT_SECRET: z.string().optional(),
  OIDC_NAME: z.string().max(60, 'must have at most 60 characters').default('single sign-on'),
  OIDC_ALLOWED_DOMAINS: domains().default([]),
  OIDC_JOIN_ROLE: z.enum(['viewer', 'member'], { error: 'must be viewer or member' }).default('viewer'),
});

/** The variables that contain secrets, including those that the clients of PostgreSQL, Temporal and OpenTelemetry read. */
export const SECRET_VARIABLES = [
  'DATABASE_URL',
  'BATON_SEALING_KEYS',
  'BATON_TOKEN_KEYS',
  'BATON_PAYLOAD_KEYS',
  'BATON_CODEC_TOKEN',
  'OPENAI_API_KEY',
  'ANTHROPIC_API_KEY',
  'OPENAI_COMPATIBLE_API_KEY',
  'OUTBOUND_PROXY',
  'SMTP_URL',
  'OIDC_CLIENT_SECRET',
  'TEMPORAL_API_KEY',
  'TEMPORAL_TLS_CLIENT_KEY_DATA',
  'TEMPORAL_CODEC_AUTH',
  'PGPASSWORD',
  'OTEL_EXPORTER_OTLP_HEADERS',
  'OTEL_EXPORTER_OTLP_TRACES_HEADERS',
] as const;

const deploymentSchema = environmentSchema.pick({ BATON_DEPLOYMENT: true, BATON_TASK_QUEUE: true });

const sealingSchema = environmentSchema.pick({ DATABASE_URL: true, BATON_SEALING_KEYS: true });

const restoredSchema = environmentSchema.pick({ DATABASE_URL: true, BATON_TASK_QUEUE: true });

const agentEnvironmentSchema = environmentSchema.pick({
  AGENTS_FILE: true,
  DEFAULT_MODEL: true,
  OPENAI_API_KEY: true,
  OPENAI_BASE_URL: true,
  ANTHROPIC_API_KEY: true,
  ANTHROPIC_BASE_URL: true,
  OPENAI_COMPATIBLE_API_KEY: true,
  OPENAI_COMPATIBLE_BASE_URL: true,
  AGENT_HISTORY_EVENTS: true,
  AGENT_PROGRAMS_UID: true,
  AGENT_PROGRAMS_GID: true,
  OUTBOUND_ALLOW: true,
  OUTBOUND_CA_FILE: true,
  OUTBOUND_PROXY: true,
});

/**
 * Reads the configuration from an environment, usually `process.env`. An empty variable counts as unset. The secrets in
 * `unneeded` are neither required nor read: their fields must not be used.
 * @throws ConfigurationError that names all invalid variables
 */
export function readConfiguration(
  environment: Readonly<Record<string, string | undefined>>,
  unneeded: readonly (typeof SECRET_VARIABLES)[number][] = [],
): Configuration {
  // Mail needs both of its variables.
  const left = new Set<string>(unneeded.includes('SMTP_URL') ? [...unneeded, 'MAIL_FROM'] : unneeded);
  const shape = Object.entries(environmentSchema.shape).filter(([name]) => !left.has(name));
  const schema = z.object(Object.fromEntries(shape)) as unknown as typeof environmentSchema;
  return configurationOf(parseEnvironment(schema, environment));
}

/**
 * Reads only the settings for trying out agents.
 * @throws ConfigurationError that names all invalid variables
 */
export function readAgentSettings(environment: Readonly<Record<string, string | undefined>>): AgentSettings {
  const values = parseEnvironment(agentEnvironmentSchema, environment);
  return {
    agentsFile: values.AGENTS_FILE,
    models: modelsOf(values),
    programsUser: programsUserOf(values),
    ...outboundOf(values),
  };
}

/**
 * Reads only the deployment name of the workers' versions in Temporal.
 * @throws ConfigurationError that names all invalid variables
 */
export function readDeployment(environment: Readonly<Record<string, string | undefined>>): string {
  return deploymentOf(parseEnvironment(deploymentSchema, environment));
}

/**
 * Reads only the database and the sealing keys.
 * @throws ConfigurationError that names all invalid variables
 */
export function readSealingKeys(
  environment: Readonly<Record<string, string | undefined>>,
): Pick<Configuration, 'databaseUrl' | 'sealingKeys'> {
  const values = parseEnvironment(sealingSchema, environment);
  return { databaseUrl: values.DATABASE_URL, sealingKeys: values.BATON_SEALING_KEYS };
}

/**
 * Reads only the database and the task queues that belong to it.
 * @throws ConfigurationError that names all invalid variables
 */
export function readRestored(
  environment: Readonly<Record<string, string | undefined>>,
): Pick<Configuration, 'databaseUrl' | 'taskQueue'> {
  const values = parseEnvironment(restoredSchema, environment);
  return { databaseUrl: values.DATABASE_URL, taskQueue: values.BATON_TASK_QUEUE };
}

function parseEnvironment<T>(
  schema: z.ZodType<T>,
  environment: Readonly<Record<string, string | undefined>>,
): T {
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
  const read = schema.safeParse(given);
  if (read.success) return read.data;
  const sentences = read.error.issues.map((issue) => `${issue.path.join('.')} ${issue.message}.`);
  throw new ConfigurationError(sentences.join('\n'));
}

function configurationOf(values: z.infer<typeof environmentSchema>): Configuration {
  return {
    port: values.PORT,
    host: values.HOST,
    baseUrl: values.BASE_URL?.replace(/\/+$/, '') ?? null,
    databaseUrl: values.DATABASE_URL,
    temporalUiUrl: values.TEMPORAL_UI_URL?.replace(/\/+$/, '') ?? null,
    taskQueue: values.BATON_TASK_QUEUE,
    version: versionOf(values),
    sealingKeys: values.BATON_SEALING_KEYS,
    tokenKeys: values.BATON_TOKEN_KEYS,
    payloadKeys: values.BATON_PAYLOAD_KEYS ?? null,
    codecToken: values.BATON_CODEC_TOKEN ?? null,
    agentsFile: values.AGENTS_FILE,
    models: modelsOf(values),
    programsUser: programsUserOf(values),
    ...outboundOf(values),
    mail: mailOf(values),
    eagerStart: values.EAGER_START === 'true' && values.BATON_BUILD_ID === undefined,
    logLevel: values.LOG_LEVEL,
    metrics:
      values.METRICS_PORT === undefined ? null : { host: values.METRICS_HOST, port: values.METRICS_PORT },
    runsKeptDays: values.RUNS_KEPT_DAYS,
    keptDays: {
      payloads: values.PAYLOADS_KEPT_DAYS,
      deliveries: values.DELIVERIES_KEPT_DAYS,
      skipped: values.SKIPPED_KEPT_DAYS,
      notifications: values.NOTIFICATIONS_KEPT_DAYS,
    },
    webhooksPerWorkspace: values.WEBHOOKS_PER_WORKSPACE,
    attemptsAtOnce: {
      perWebhook: values.ATTEMPTS_AT_ONCE_PER_WEBHOOK,
      overall: values.ATTEMPTS_AT_ONCE,
    },
    mostWaiting: { tasks: values.MOST_WAITING_TASKS, events: values.MOST_WAITING_EVENTS },
    rateLimit: { perSecond: values.RATE_LIMIT_PER_SECOND, burst: values.RATE_LIMIT_BURST },
    eventsRateLimit: eventsRateOf(values.EVENTS_RATE_LIMIT_PER_SECOND),
    signInsPerMinute: values.SIGN_INS_PER_MINUTE,
    channelInApi: values.CHANNEL_IN_API === 'true',
    channelConnections: {
      perToken: values.CHANNEL_CONNECTIONS_PER_TOKEN,
      overall: values.CHANNEL_CONNECTIONS,
    },
    channelHandshakes: {
      perAddress: values.CHANNEL_HANDSHAKES_PER_ADDRESS,
      overall: values.CHANNEL_HANDSHAKES,
    },
    sourceAddresses: values.SOURCE_ADDRESSES,
    trustedProxies: values.TRUSTED_PROXIES,
    identityProvider: identityProviderOf(values),
    openId: openIdOf(values),
  };
}

function versionOf(values: z.infer<typeof environmentSchema>): WorkersVersion | null {
  const { BATON_BUILD_ID: build } = values;
  return build === undefined ? null : { deployment: deploymentOf(values), build };
}

function deploymentOf({
  BATON_DEPLOYMENT: given,
  BATON_TASK_QUEUE: queue,
}: z.infer<typeof deploymentSchema>) {
  const deployment = given ?? queue;
  if (DEPLOYMENT_FORM.test(deployment)) return deployment;
  throw new ConfigurationError(
    `BATON_DEPLOYMENT is missing: its default, BATON_TASK_QUEUE, is not ${DEPLOYMENT_WORDS}.`,
  );
}

function outboundOf(values: z.infer<typeof agentEnvironmentSchema>) {
  return {
    outboundAllow: values.OUTBOUND_ALLOW,
    outboundCaFile: values.OUTBOUND_CA_FILE ?? null,
    outboundProxy: values.OUTBOUND_PROXY ?? null,
  };
}

/** Returns the ranges of a list with commas. */
function rangesIn(text: string): string[] {
  return text
    .split(',')
    .map((range) => range.trim())
    .filter((range) => range !== '');
}

function modelsOf(values: z.infer<typeof agentEnvironmentSchema>): ModelSettings {
  return {
    defaultModel: values.DEFAULT_MODEL ?? null,
    openai: { apiKey: values.OPENAI_API_KEY ?? null, baseUrl: values.OPENAI_BASE_URL ?? null },
    anthropic: { apiKey: values.ANTHROPIC_API_KEY ?? null, baseUrl: values.ANTHROPIC_BASE_URL ?? null },
    openaiCompatible: {
      apiKey: values.OPENAI_COMPATIBLE_API_KEY ?? null,
      baseUrl: values.OPENAI_COMPATIBLE_BASE_URL ?? null,
    },
    historyEvents: values.AGENT_HISTORY_EVENTS,
  };
}

function programsUserOf({
  AGENT_PROGRAMS_UID: uid,
  AGENT_PROGRAMS_GID: gid,
}: z.infer<typeof agentEnvironmentSchema>): Configuration['programsUser'] {
  if (uid !== undefined) return { uid, gid: gid ?? uid };
  if (gid === undefined) return null;
  throw new ConfigurationError('AGENT_PROGRAMS_UID is missing: AGENT_PROGRAMS_GID requires it.');
}

function mailOf(values: z.infer<typeof environmentSchema>): Configuration['mail'] {
  const { SMTP_URL: smtpUrl, MAIL_FROM: from } = values;
  if (smtpUrl === undefined && from === undefined) return null;
  if (smtpUrl === undefined) throw new ConfigurationError('SMTP_URL is missing: MAIL_FROM requires it.');
  if (from === undefined) throw new ConfigurationError('MAIL_FROM is missing: SMTP_URL requires it.');
  return { smtpUrl, from };
}

function identityProviderOf(values: z.infer<typeof environmentSchema>): IdentityProvider | null {
  const { JWKS_URL: jwksUrl, JWT_ISSUER: issuer, JWT_AUDIENCE: audience } = values;
  if (jwksUrl === undefined) return null;
  // Without both, every token of the provider would be accepted, whatever service it was issued for.
  if (issuer === undefined) throw new ConfigurationError('JWT_ISSUER is missing: JWKS_URL requires it.');
  if (audience === undefined) throw new ConfigurationError('JWT_AUDIENCE is missing: JWKS_URL requires it.');
  return {
    jwksUrl,
    issuer,
    audience,
    projectClaim: values.JWT_PROJECT_CLAIM,
    scopeClaim: values.JWT_SCOPE_CLAIM,
  };
}

function openIdOf(values: z.infer<typeof environmentSchema>): OpenIdConfiguration | null {
  const { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: clientId, OIDC_ALLOWED_DOMAINS: allowed } = values;
  if (issuer === undefined && clientId === undefined) return null;
  if (issuer === undefined)
    throw new ConfigurationError('OIDC_ISSUER is missing: OIDC_CLIENT_ID requires it.');
  if (clientId === undefined)
    throw new ConfigurationError('OIDC_CLIENT_ID is missing: OIDC_ISSUER requires it.');
  return {
    issuer,
    clientId,
    clientSecret: values.OIDC_CLIENT_SECRET ?? null,
    name: values.OIDC_NAME,
    joining: allowed.length > 0 ? { domains: allowed, role: values.OIDC_JOIN_ROLE } : null,
  };
}

/** Returns the schema of e-mail domains, in lower case. */
function domains() {
  return z.string().transform((text, context) => {
    const given = text.split(',').map((entry) => entry.trim().toLowerCase());
    if (given.every((domain) => /^([a-z0-9-]+\.)+[a-z0-9-]+$/.test(domain))) return given;
    const message = 'must be domains separated by commas, for example example.com';
    context.addIssue({ code: 'custom', message });
    return [];
  });
}

/** Allows a burst of two seconds, and at least one whole request. */
function eventsRateOf(perSecond: number): { perSecond: number; burst: number } {
  return { perSecond, burst: Math.max(2 * perSecond, MAX_EVENTS_PER_REQUEST) };
}

/** Returns the schema of IP addresses and ranges. */
function ranges() {
  return z.string().transform((text, context) => {
    const given = rangesIn(text);
    try {
      createAddressSet(given);
    } catch (error) {
      context.addIssue({ code: 'custom', message: `contains an invalid range: ${(error as Error).message}` });
    }
    return given;
  });
}

/** Returns the schema of single IP addresses, each converted to a range. */
function addresses() {
  return z.string().transform((text, context) => {
    const given = text.split(',').map((entry) => entry.trim().toLowerCase());
    return given.flatMap((entry) => {
      const range = rangeOfOne(entry);
      if (range !== null) return [range];
      const message = 'must be single addresses separated by commas, for example 203.0.113.7';
      context.addIssue({ code: 'custom', message });
      return [];
    });
  });
}

function rangeOfOne(entry: string): string | null {
  const [address = '', width, ...rest] = entry.split('/');
  const bits = isIPv4(address) ? '32' : isIPv6(address) && !address.includes('%') ? '128' : null;
  return bits === null || rest.length > 0 || (width ?? bits) !== bits ? null : `${address}/${bits}`;
}

function wholeNumber(least: number, most: number) {
  const message = `must be a whole number from ${least} to ${most}`;
  return z
    .string()
    .regex(/^\d{1,10}$/, message)
    .transform(Number)
    .refine((value) => value >= least && value <= most, message);
}

/** An address with which secrets are exchanged, or that gives keys. */
function secureUrl() {
  return url(['https:', 'http:']).refine(
    (text) => new URL(text).protocol === 'https:' || isLoopback(new URL(text).hostname),
    { error: 'must start with https://, except on this machine' },
  );
}

function url(protocols: readonly string[]) {
  const forms = protocols.map((protocol) => `${protocol}//`).join(' or ');
  return z
    .string({ error: `is missing: set an address that starts with ${forms}` })
    .refine((text) => URL.canParse(text) && protocols.includes(new URL(text).protocol), {
      error: `must be an address that starts with ${forms}`,
    });
}
