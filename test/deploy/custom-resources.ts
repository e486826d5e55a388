const count = { type: 'integer', minimum: 1 };
const wholeNumber = { type: 'integer', minimum: 0 };
const numeral = { type: 'string', pattern: '^[1-9]\\d*$' };
const text = { type: 'string', minLength: 1 };
const duration = { type: 'string', pattern: '^\\d+(s|m|h)$' };

function object(properties: Record<string, object>, required: string[] = Object.keys(properties)) {
  return { type: 'object', properties, required, additionalProperties: false };
}

function list(items: object) {
  return { type: 'array', minItems: 1, items };
}

function resource(apiVersion: string, kind: string, spec: object) {
  return object({
    apiVersion: { const: apiVersion },
    kind: { const: kind },
    metadata: { type: 'object' },
    spec,
  });
}

/** The settings of KEDA's Temporal scaler. All values are strings. The versions need KEDA 2.20, all others 2.17. */
const temporalTrigger = object(
  {
    type: { const: 'temporal' },
    metadata: object(
      {
        endpoint: { type: 'string', pattern: '^[^/:]+:\\d+$' },
        namespace: text,
        taskQueue: text,
        queueTypes: { type: 'string', pattern: '^(workflow|activity)(,(workflow|activity))?$' },
        targetQueueSize: numeral,
        workerDeploymentName: text,
        workerDeploymentBuildId: text,
        apiKeyFromEnv: { const: 'TEMPORAL_API_KEY' },
      },
      ['endpoint', 'namespace', 'taskQueue', 'queueTypes', 'targetQueueSize'],
    ),
    authenticationRef: object({ name: text }),
  },
  ['type', 'metadata'],
);

const scaleDown = object({
  stabilizationWindowSeconds: { type: 'integer', minimum: 0, maximum: 3600 },
  policies: list(
    object({ type: { enum: ['Pods', 'Percent'] }, value: wholeNumber, periodSeconds: wholeNumber }),
  ),
});

const scaledObject = object({
  scaleTargetRef: object({ name: text }),
  minReplicaCount: count,
  maxReplicaCount: count,
  pollingInterval: count,
  advanced: object({ horizontalPodAutoscalerConfig: object({ behavior: object({ scaleDown }) }) }),
  triggers: list(temporalTrigger),
});

const sourceCriterion = object({ ipStrategy: object({ depth: count }, []) });

const middleware = {
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
};

const externalSecret = object({
  refreshInterval: duration,
  secretStoreRef: object({ name: text, kind: { enum: ['SecretStore', 'ClusterSecretStore'] } }),
  target: object({ name: text }),
  dataFrom: list(object({ extract: object({ key: text }) })),
});

const httpRoute = object({
  parentRefs: list(object({ name: text, namespace: text, sectionName: text }, ['name'])),
  hostnames: list({ type: 'string', format: 'hostname' }),
  rules: list(
    object(
      {
        matches: list(object({ path: object({ type: { const: 'PathPrefix' }, value: text }) })),
        backendRefs: list(object({ name: text, port: count })),
        timeouts: object({ request: duration, backendRequest: duration }, []),
      },
      ['matches', 'backendRefs'],
    ),
  ),
});

/**
 * The fields of the custom resources that the chart uses, as their definitions describe them, and no others: no package that pip or
 * npm can install contains the definitions. By kind.
 */
export const CUSTOM_RESOURCES: Readonly<Record<string, object>> = {
  ScaledObject: resource('keda.sh/v1alpha1', 'ScaledObject', scaledObject),
  Middleware: resource('traefik.io/v1alpha1', 'Middleware', middleware),
  ExternalSecret: resource('external-secrets.io/v1', 'ExternalSecret', externalSecret),
  HTTPRoute: resource('gateway.networking.k8s.io/v1', 'HTTPRoute', httpRoute),
};
