const wholeNumber = { type: 'integer', minimum: 0 };
const numeral = { type: 'string', pattern: '^[1-9]\\d*$' };

function object(properties: Record<string, object>, required: string[] = Object.keys(properties)) {
  return { type: 'object', properties, required, additionalProperties: false };
}

/** The settings of the Temporal scaler of KEDA 2.17 and newer. All values are strings. */
const temporalTrigger = object({
  type: { const: 'temporal' },
  metadata: object(
    {
      endpoint: { type: 'string', pattern: '^[^/:]+:\\d+$' },
      endpointFromEnv: { const: 'TEMPORAL_ADDRESS' },
      namespace: { type: 'string', minLength: 1 },
      taskQueue: { type: 'string', minLength: 1 },
      queueTypes: { type: 'string', pattern: '^(workflow|activity)(,(workflow|activity))?$' },
      targetQueueSize: numeral,
    },
    ['namespace', 'taskQueue', 'queueTypes', 'targetQueueSize'],
  ),
});

const policy = object({
  type: { enum: ['Pods', 'Percent'] },
  value: wholeNumber,
  periodSeconds: wholeNumber,
});
const scaleDown = object({
  stabilizationWindowSeconds: { type: 'integer', minimum: 0, maximum: 3600 },
  policies: { type: 'array', minItems: 1, items: policy },
});

/**
 * The fields of a KEDA ScaledObject that our manifests use, as its documentation and the scaler's describe them, and no
 * others: its own schema comes in no package.
 */
export const scaledObjectSchema = object({
  apiVersion: { const: 'keda.sh/v1alpha1' },
  kind: { const: 'ScaledObject' },
  metadata: object({
    name: { type: 'string' },
    namespace: { type: 'string' },
    labels: { type: 'object', additionalProperties: { type: 'string' } },
  }),
  spec: object({
    scaleTargetRef: object({ name: { type: 'string' } }),
    minReplicaCount: { type: 'integer', minimum: 1 },
    maxReplicaCount: { type: 'integer', minimum: 1 },
    pollingInterval: { type: 'integer', minimum: 1 },
    advanced: object({
      horizontalPodAutoscalerConfig: object({ behavior: object({ scaleDown }) }),
    }),
    triggers: { type: 'array', minItems: 1, items: temporalTrigger },
  }),
});
