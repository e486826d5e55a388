import { join } from 'node:path';
import { inCheckout } from '../common/paths.ts';
import { pythonWith } from '../services/python.ts';

/** The folder of the client package for Python. */
export const PYTHON_CLIENT = inCheckout('clients', 'python');
/** The exact versions of the packages that generate, build and test the client package, in the format of pip. */
export const PYTHON_CLIENT_TOOLS = join(PYTHON_CLIENT, 'tools.txt');

/**
 * Returns the path of a Python with these packages. Their programs are in the same folder.
 * @throws Error with instructions if there is no Python
 */
export function pythonForClient(): Promise<string> {
  return pythonWith({
    requirements: PYTHON_CLIENT_TOOLS,
    probe: 'datamodel_code_generator, hatchling, pytest',
  });
}
