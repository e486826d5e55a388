import type { Installation } from '../../src/runtime/installation.ts';
import { shownLocal } from '../common/paths.ts';

/** The content of `.local/credentials.json`, for people, scripts and the command line. */
export type Credentials = {
  base_url: string;
  ws_url: string;
  api_key: string | null;
  project_id: string | null;
  workspace_id: string | null;
  admin_email: string | null;
  admin_password: string | null;
  temporal_address: string;
  temporal_ui_url: string | null;
  pids: Record<string, number>;
};

/**
 * Returns the credentials. `installation` is null if the workspace was created elsewhere, so that its credentials are
 * unknown.
 */
export function credentialsOf(
  baseUrl: string,
  installation: Installation | null,
  environment: NodeJS.ProcessEnv,
  pids: Record<string, number>,
): Credentials {
  return {
    base_url: baseUrl,
    ws_url: `${baseUrl.replace(/^http/, 'ws')}/ws`,
    api_key: installation?.api_key ?? null,
    project_id: installation?.project_id ?? null,
    workspace_id: installation?.workspace_id ?? null,
    admin_email: installation?.admin_email ?? null,
    admin_password: installation?.admin_password ?? null,
    temporal_address: environment['TEMPORAL_ADDRESS'] ?? '',
    temporal_ui_url: environment['TEMPORAL_UI_URL'] ?? null,
    pids,
  };
}

/** Returns the last output of a start: URLs, credentials, and a command to try. */
export function banner(credentials: Credentials, environment: NodeJS.ProcessEnv): string {
  const { base_url, temporal_ui_url, api_key, project_id, admin_email, admin_password } = credentials;
  const rows = [
    ['Screens', base_url],
    ['Sign in with', admin_email === null ? null : `${admin_email}  ${admin_password}`],
    ['API', `${base_url}/api/v1`],
    ['Documentation', `${base_url}/docs`],
    ['Temporal Web UI', temporal_ui_url],
    ['API key', api_key],
    ['Project', project_id],
  ];
  const table = rows.flatMap(([title, value]) => (value ? [`  ${`${title}`.padEnd(16)} ${value}`] : []));
  return [
    '',
    '  Baton is running.',
    '',
    ...table,
    ...firstTask(credentials),
    '',
    `  Callbacks and webhooks may reach ${environment['OUTBOUND_ALLOW']} (OUTBOUND_ALLOW) in addition to public addresses.`,
    `  These credentials are in ${shownLocal('credentials.json')}, logs in ${shownLocal('logs')}/. Ctrl-C stops everything.`,
    '',
  ].join('\n');
}

function firstTask({ base_url, api_key, project_id }: Credentials): string[] {
  if (api_key === null || project_id === null) return [];
  const body = JSON.stringify({ title: 'My first task', project_id });
  return [
    '',
    '  Submit a task:',
    '',
    `  curl -s ${base_url}/api/v1/tasks -H 'X-API-Key: ${api_key}' \\`,
    `    -H 'Content-Type: application/json' -d '${body}'`,
  ];
}
