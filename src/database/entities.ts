import * as people from './people/entities.ts';
import * as tasks from './tasks/entities.ts';
import * as webhooks from './webhooks/entities.ts';

/** All tables that have an entity. */
export const entities = [...Object.values(people), ...Object.values(tasks), ...Object.values(webhooks)];
