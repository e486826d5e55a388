/** The programs of the service, by the names of their processes. */
export const ENTRY_POINTS = {
  api: 'src/api/server.ts',
  gateway: 'src/gateway/server.ts',
  'task-worker': 'workers/task-worker.ts',
  'delivery-worker': 'workers/delivery-worker.ts',
} as const;
