import { useFixture, type Scope } from './fixture.ts';
import { startReceiver, type Receiver, type ReceiverOptions } from './receiver.ts';
import { services } from './services.ts';

/** Starts a receiver of callbacks, with a certificate that the service trusts. */
export function startCallbackReceiver(): Promise<Receiver> {
  return startReceiver({ tls: services().tls, name: 'localhost' });
}

/** Registers hooks that give a `describe`, or each test of it, a receiver of callbacks. */
export function useCallbackReceiver(scope?: Scope): Receiver {
  return useFixture(startCallbackReceiver, scope);
}

/** Registers hooks that give a `describe`, or each test of it, a receiver. */
export function useReceiver(scope?: Scope, options: () => ReceiverOptions = () => ({})): Receiver {
  return useFixture(() => startReceiver(options()), scope);
}
