import { Connection } from '@temporalio/client';
import { loadTemporalConfig } from '../../src/temporal/connection.ts';
import type { Say } from '../common/progress.ts';
import { readTemporalPlan } from './temporal-plan.ts';

/** The numbers of `temporal.api.enums.v1.IndexedValueType`. */
const INDEXED_VALUE_TYPES = {
  Text: 1,
  Keyword: 2,
  Int: 3,
  Double: 4,
  Bool: 5,
  Datetime: 6,
  KeywordList: 7,
} as const;

/**
 * Connects to the Temporal service of TEMPORAL_ADDRESS and the related variables. Registers the search attributes of
 * `temporal-dev.yml` that are missing. Reports features that the service lacks; everything else works. Returns the address and
 * the namespace for the terminal.
 * @throws Error if it does not respond
 */
export async function externalTemporal(say: Say): Promise<string> {
  const { connectionOptions, namespace } = loadTemporalConfig();
  const shown = `${connectionOptions.address ?? ''}, namespace ${namespace}`;
  try {
    const connection = await Connection.connect({ ...connectionOptions, connectTimeout: '10 s' });
    try {
      const described = await connection.workflowService.describeNamespace({ namespace });
      if (!described.namespaceInfo?.capabilities?.workflowPause) {
        say(
          'this Temporal service does not support workflow pause: its Web UI cannot pause a run, the API can',
        );
      }
      await registerSearchAttributes(connection, namespace, say);
    } finally {
      await connection.close();
    }
  } catch (error) {
    const reason = error instanceof Error ? error.message : '';
    throw new Error(`TEMPORAL_ADDRESS (${shown}) cannot be used: ${reason}`, { cause: error });
  }
  return shown;
}

async function registerSearchAttributes(connection: Connection, namespace: string, say: Say): Promise<void> {
  const wanted = Object.entries(readTemporalPlan().search_attributes);
  try {
    const known = await connection.operatorService.listSearchAttributes({ namespace });
    const missing = wanted.filter(([name]) => !(name in known.customAttributes));
    if (missing.length === 0) return;
    const searchAttributes = Object.fromEntries(
      missing.map(([name, type]) => [name, INDEXED_VALUE_TYPES[type]]),
    );
    await connection.operatorService.addSearchAttributes({ namespace, searchAttributes });
    say(`registered the search attributes ${missing.map(([name]) => name).join(', ')}`);
  } catch (error) {
    const reason = error instanceof Error ? error.message : '';
    say(`cannot register search attributes (${reason}): the Web UI cannot find runs by them`);
  }
}
