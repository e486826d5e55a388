import { inCheckout } from '../../dev/common/paths.ts';
import { pythonWith } from '../../dev/services/python.ts';

/**
 * Returns the path of a Python with the Socket.IO client, for use with asyncio (aiohttp) and without (requests,
 * websocket-client).
 * @throws if it cannot be created, with what to do
 */
export function pythonWithClients(): Promise<string> {
  return pythonWith({
    requirements: inCheckout('test', 'support', 'python-requirements.txt'),
    probe: 'socketio',
  });
}

/**
 * Returns the path of a Python with the A2A protocol's own client.
 * @throws if it cannot be created, with what to do
 */
export function pythonWithA2a(): Promise<string> {
  return pythonWith({ requirements: inCheckout('test', 'support', 'a2a-requirements.txt'), probe: 'a2a' });
}
