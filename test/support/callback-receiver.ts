import { startReceiver, type Receiver } from './receiver.ts';
import { services } from './services.ts';

/** Registers hooks that give the tests of a `describe` a receiver of callbacks with a certificate that worlds trust. */
export function useCallbackReceiver(): Receiver {
  const held = {} as Receiver;
  before(async () => {
    Object.assign(held, await startReceiver({ tls: services().tls, name: 'localhost' }));
  });
  after(async () => await held.close?.());
  return held;
}
