import { startReceiver, type Receiver } from './receiver.ts';
import { services } from './services.ts';

/**
 * Registers hooks that give a `describe`, or each test of it, a receiver of callbacks with a certificate that worlds
 * trust.
 */
export function useCallbackReceiver(each: 'describe' | 'each test' = 'describe'): Receiver {
  const held = {} as Receiver;
  const [first, last] = each === 'describe' ? [before, after] : [beforeEach, afterEach];
  first(async () => {
    Object.assign(held, await startReceiver({ tls: services().tls, name: 'localhost' }));
  });
  last(async () => await held.close?.());
  return held;
}
