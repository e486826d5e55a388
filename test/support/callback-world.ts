import { startReceiver, type Receiver } from './receiver.ts';
import { services } from './services.ts';
import { startWorld, type World } from './world.ts';

/** A world, and beside it a receiver of callbacks that has a certificate which the world trusts. */
export type CallbackWorld = { world: World; receiver: Receiver; close(): Promise<void> };

/** Starts both. `close` ends the receiver first, so that nothing waits for it. */
export async function startCallbackWorld(): Promise<CallbackWorld> {
  const world = await startWorld();
  const receiver = await startReceiver({ tls: services().tls, name: 'localhost' });
  return {
    world,
    receiver,
    async close() {
      await receiver.close();
      await world.close();
    },
  };
}
