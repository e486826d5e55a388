import type { SECRET_VARIABLES } from './configuration.ts';

/** The processes of the service. `all-workers` does the work of both workers. */
export type ProcessName = 'api' | 'gateway' | 'task-worker' | 'delivery-worker' | 'all-workers';
type SecretVariable = (typeof SECRET_VARIABLES)[number];

const MODEL_KEYS = ['OPENAI_API_KEY', 'ANTHROPIC_API_KEY', 'OPENAI_COMPATIBLE_API_KEY'] as const;

/** Gateways send no traces. */
const TRACE_HEADERS = ['OTEL_EXPORTER_OTLP_HEADERS', 'OTEL_EXPORTER_OTLP_TRACES_HEADERS'] as const;

/** The secrets that a process does not need. It does not read them, and its environment should not contain them. */
export const UNNEEDED_SECRETS: Readonly<Record<ProcessName, readonly SecretVariable[]>> = {
  api: MODEL_KEYS,
  gateway: [
    'BATON_SEALING_KEYS',
    'BATON_CODEC_TOKEN',
    'OIDC_CLIENT_SECRET',
    'OUTBOUND_PROXY',
    'SMTP_URL',
    ...MODEL_KEYS,
    ...TRACE_HEADERS,
  ],
  'task-worker': ['BATON_TOKEN_KEYS', 'BATON_CODEC_TOKEN', 'OIDC_CLIENT_SECRET', 'SMTP_URL'],
  'delivery-worker': ['BATON_TOKEN_KEYS', 'BATON_CODEC_TOKEN', 'OIDC_CLIENT_SECRET', ...MODEL_KEYS],
  'all-workers': ['BATON_TOKEN_KEYS', 'BATON_CODEC_TOKEN', 'OIDC_CLIENT_SECRET'],
};
