import { z } from 'zod';
import type { Dependencies } from '../dependencies.ts';
import { route, type Route } from '../http/route.ts';

/** Returns the route that lists the source addresses of deliveries, for firewalls (docs/receiving.md). */
export function sourceAddressRoutes({ sourceAddresses }: Dependencies): Route[] {
  const addresses = z.array(z.string()).describe('CIDR ranges of single addresses, as configured');
  return [
    route({
      method: 'get',
      path: '/api/v1/source-addresses',
      operationId: 'listSourceAddresses',
      tag: 'webhook',
      summary: 'List the source addresses of callbacks and deliveries',
      access: { kind: 'public' },
      responses: {
        200: { description: 'The addresses', schema: z.strictObject({ addresses }) },
      },
      handle: async () => ({ status: 200, body: { addresses: sourceAddresses } }),
    }),
  ];
}
