import { inCheckout } from '../../dev/common/paths.ts';
import { pythonWith } from '../../dev/services/python.ts';

/**
 * The path of a Python that has Socket.IO's client in both manners, with asyncio (aiohttp) and without (requests,
 * websocket-client).
 * @throws a sentence that says what to do
 */
export function pythonWithClients(): Promise<string> {
  return pythonWith({
    requirements: inCheckout('test', 'support', 'python-requirements.txt'),
    probe: 'socketio',
  });
}
