import { dirname, join } from 'node:path';
import { inCheckout } from '../common/paths.ts';
import { pythonWith } from './python.ts';

/**
 * Returns the path of a tool from PyPI (`python-tools.txt`): `hadolint`, `kubernetes-validate`, `schemathesis`, or
 * `python` itself, which can import `promql_parser`.
 * @throws Error with instructions if there is no Python
 */
export async function pythonTool(name: string): Promise<string> {
  const requirements = inCheckout('dev', 'services', 'python-tools.txt');
  return join(dirname(await pythonWith({ requirements, probe: 'schemathesis' })), name);
}
