import { dirname, join } from 'node:path';
import { inCheckout } from '../common/paths.ts';
import { pythonWith } from './python.ts';

/**
 * The path of a program among the tools that come from PyPI (`python-tools.txt`): `hadolint`, `kubernetes-validate`,
 * `schemathesis`, or `python` itself, which can import `promql_parser`.
 * @throws a sentence that says what to do, where there is no Python
 */
export async function pythonTool(name: string): Promise<string> {
  const requirements = inCheckout('dev', 'services', 'python-tools.txt');
  return join(dirname(await pythonWith({ requirements, probe: 'schemathesis' })), name);
}
