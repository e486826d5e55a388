import { startReceiver, type Receiver, type ReceiverOptions } from './receiver.ts';
import { services } from './services.ts';

type Each = 'describe' | 'each test';

/** Starts a receiver of callbacks, with a certificate that the service trusts. */
export function startCallbackReceiver(): Promise<Receiver> {
  return startReceiver({ tls: services().tls, name: 'localhost' });
}

/** Registers hooks that give a `describe`, or each test of it, a receiver of callbacks. */
export function useCallbackReceiver(each: Each = 'describe'): Receiver {
  return useReceiver(each, () => ({ tls: services().tls, name: 'localhost' }));
}

/** Registers hooks that give a `describe`, or each test of it, a receiver. */
export function useReceiver(each: Each = 'describe', options: () => ReceiverOptions = () => ({})): Receiver {
  const held = {} as Receiver;
  const [first, last] = each === 'describe' ? [before, after] : [beforeEach, afterEach];
  first(async () => void Object.assign(held, await startReceiver(options())));
  last(async () => await held.close?.());
  return held;
}
