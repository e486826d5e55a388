function object(properties: Record<string, object>, required: string[] = Object.keys(properties)) {
  return { type: 'object', properties, required, additionalProperties: false };
}

const count = { type: 'integer', minimum: 1 };
const sourceCriterion = object({ ipStrategy: object({ depth: count }, []) });

/** The parts of Traefik's Middleware (v3) that the manifests use: limits of requests and of open connections, by address. */
export const middlewareSchema = object({
  apiVersion: { const: 'traefik.io/v1alpha1' },
  kind: { const: 'Middleware' },
  metadata: { type: 'object' },
  spec: {
    oneOf: [
      object({
        rateLimit: object({ average: count, period: { enum: ['1s', '1m'] }, burst: count, sourceCriterion }, [
          'average',
          'burst',
          'sourceCriterion',
        ]),
      }),
      object({ inFlightReq: object({ amount: count, sourceCriterion }) }),
    ],
  },
});
