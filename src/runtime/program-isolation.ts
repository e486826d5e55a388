import { spawnSync } from 'node:child_process';
import { existsSync, lstatSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { findProgram } from '../agents/find-program.ts';
import { NO_ISOLATION, type Isolation } from '../agents/isolation.ts';
import { ConfigurationError, type Configuration } from './configuration.ts';
import { probePrograms, type Exposure } from './program-probe.ts';

type Settings = Pick<Configuration, 'programsUser'>;

/**
 * The user and group of programs unless others are configured: ids that no system assigns. Services may run as "nobody".
 */
const PROGRAMS_ID = 60_606;
/** Without it nothing can be checked. */
const PROCESSES = '/proc/self/environ';

/** How programs are started, and what they can read then; null if that cannot be checked on this system. */
export type ChosenIsolation = { isolation: Isolation; exposure: Exposure | null };

/**
 * Chooses the strongest isolation that works here: another user, namespaces, or none. Tries each with a real program.
 * @throws ConfigurationError if another user is configured and this process may not switch to it
 */
export async function chooseIsolation({ programsUser }: Settings): Promise<ChosenIsolation> {
  const isRoot = process.getuid?.() === 0;
  if (programsUser?.uid !== 0 && (isRoot || programsUser)) {
    const { uid, gid } = programsUser ?? { uid: PROGRAMS_ID, gid: PROGRAMS_ID };
    const chosen = await tryUser(uid, gid);
    if (chosen) return chosen;
    if (programsUser) {
      throw new ConfigurationError(
        `AGENT_PROGRAMS_UID is ${uid}, but this process cannot start and end programs as another user. ` +
          'Run it as root with the capabilities SETUID, SETGID and KILL, or remove the variable.',
      );
    }
  }
  if (!existsSync(PROCESSES)) return { isolation: NO_ISOLATION, exposure: null };
  return (isRoot ? null : await tryNamespaces()) ?? (await tryNone());
}

/**
 * Chooses the isolation of programs, unless it was `chosen` before, and logs what programs can read.
 * @throws as {@link chooseIsolation}
 */
export async function isolatePrograms(
  settings: Settings,
  chosen: ChosenIsolation | null,
  log: Logger,
): Promise<Isolation> {
  const { isolation, exposure } = chosen ?? (await chooseIsolation(settings));
  const { level, fields, sentence } = describe({ isolation, exposure });
  log[level](fields, sentence);
  return isolation;
}

async function tryUser(uid: number, gid: number): Promise<ChosenIsolation | null> {
  const isolation = { kind: 'user' as const, uid, gid, home: null };
  const exposure = await probePrograms(isolation);
  if (exposure === null || exposure.own) return null;
  return { isolation: { ...isolation, home: exposure.hasHome ? null : homeOf(uid, gid) }, exposure };
}

async function tryNamespaces(): Promise<ChosenIsolation | null> {
  const unshare = findProgram('unshare', process.env['PATH'] ?? '');
  if (unshare === null) return null;
  const isolation = { kind: 'namespaces' as const, unshare };
  const exposure = await probePrograms(isolation);
  return exposure === null || exposure.own || exposure.others.length > 0 ? null : { isolation, exposure };
}

async function tryNone(): Promise<ChosenIsolation> {
  return { isolation: NO_ISOLATION, exposure: await probePrograms(NO_ISOLATION) };
}

/** Returns a folder that only the user of programs can use; null if there is none. It stays after a restart. */
function homeOf(uid: number, gid: number): string | null {
  const folder = join(tmpdir(), `baton-programs-${uid}`);
  // Root may lack the capability to give a folder away, so that user creates it.
  spawnSync('mkdir', ['-m', '700', folder], { uid, gid, stdio: 'ignore' });
  const found = lstatSync(folder, { throwIfNoEntry: false });
  return found?.isDirectory() && found.uid === uid && (found.mode & 0o077) === 0 ? folder : null;
}

function describe({ isolation, exposure }: ChosenIsolation) {
  const owner = isolation.kind === 'user' ? `user ${isolation.uid}` : 'the user of this process';
  const isolated = isolation.kind === 'namespaces' ? `${owner}, in process namespaces` : owner;
  const start = `programs of agents run as ${isolated}`;
  if (exposure === null && isolation.kind !== 'user') {
    return {
      level: 'warn' as const,
      fields: {},
      sentence: `${start}: they can read the secrets of this process`,
    };
  }
  const fields = { isolation: isolation.kind };
  const { own, others } = exposure ?? { own: false, others: [] };
  if (own) {
    const sentence = `${start}: they can read the secrets in its environment and memory, and its files. See docs/security.md`;
    return { level: 'warn' as const, fields, sentence };
  }
  const safe = 'they cannot read the environment and the memory of this process';
  const files = isolation.kind === 'user' ? '' : '. They can read the same files';
  if (others.length > 0) {
    const sentence = `${start}: ${safe}, but the secrets in the environment of other processes${files}. See docs/security.md`;
    return { level: 'warn' as const, fields: { ...fields, processes: others }, sentence };
  }
  return { level: 'info' as const, fields, sentence: `${start}: ${safe}${files}` };
}
