import { z } from 'zod';
import type { Dependencies } from '../dependencies.ts';
import { route, type Route } from '../http/route.ts';

/** From which addresses deliveries come, for firewalls (docs/receiving.md). */
export function sourceAddressRoutes({ sourceAddresses }: Dependencies): Route[] {
  const addresses = z.array(z.string()).describe('Ranges of one address each, as configured');
  return [
    route({
      method: 'get',
      path: '/api/v1/source-addresses',
      operationId: 'listSourceAddresses',
      tag: 'webhook',
      summary: 'The addresses that callbacks and deliveries come from',
      access: { kind: 'public' },
      answers: {
        200: { description: 'All of them', schema: z.strictObject({ addresses }) },
      },
      handle: async () => ({ status: 200, body: { addresses: sourceAddresses } }),
    }),
  ];
}
