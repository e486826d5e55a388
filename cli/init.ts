import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { usageError } from './exit-codes.ts';
import { LAUNCHER, localFolder } from './local-service.ts';
import { unpackService } from './start-service.ts';

/** A file that `baton init` writes. `written` is false if it existed before. */
export type StarterFile = { path: string; about: string; written: boolean };

/**
 * Writes the files that a new user changes first into a folder, except those that exist. The compose files use the service that
 * it unpacks.
 * @throws CliError in a checkout, or if the service cannot be unpacked
 */
export function writeStarterFiles(folder: string, env: NodeJS.ProcessEnv): StarterFile[] {
  if (existsSync(LAUNCHER))
    throw usageError('This is a checkout. It contains agents.yml, examples and deploy/');
  const service = unpackService(localFolder(env));
  const example = (...parts: string[]) => readFileSync(join(service, ...parts), 'utf8');
  const deploy = relative(folder, join(service, 'deploy'));
  const files: [path: string, about: string, text: string][] = [
    ['agents.yml', 'the agents of each type of task; `baton start` uses it', example('agents.yml')],
    [
      'receiver.ts',
      'receives webhooks: WEBHOOK_SECRET=… node receiver.ts',
      example('examples', 'receivers', 'typescript', 'receiver.ts'),
    ],
    ['compose.yaml', 'the service with a container engine; see its first lines', compose(deploy)],
    [
      'compose.agents.yaml',
      'agents.yml in compose.yaml',
      composeAgents(relative(join(service, 'deploy'), folder)),
    ],
  ];
  return files.map(([path, about, text]) => {
    const written = !existsSync(join(folder, path));
    if (written) writeFileSync(join(folder, path), text);
    return { path, about, written };
  });
}

function compose(deploy: string): string {
  return `# The whole service on one machine with a container engine (compose 2.24 or newer).
#
#   sh ${deploy}/make-env.sh https://localhost "$PWD/.env"
#   docker compose up --build --detach --wait
#   docker compose run --rm migrate baton admin setup --workspace Acme --project First --email you@example.com
#
# The processes and their settings are in ${deploy}. .env contains the secrets.
name: baton
include:
  - path: [${deploy}/compose.yaml, compose.agents.yaml]
    env_file: .env
`;
}

function composeAgents(folder: string): string {
  return `# The agents of this folder. Paths begin at the folder of the first compose file.
services:
  api: &agents
    environment: { AGENTS_FILE: /etc/baton/agents.yml }
    volumes: ["${folder}/agents.yml:/etc/baton/agents.yml:ro"]
  task-worker: *agents
`;
}
