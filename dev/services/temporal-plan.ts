import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';
import { inCheckout } from '../common/paths.ts';

const port = z.number().int().min(0).max(65_535);
const setting = z.union([z.string(), z.number(), z.boolean()]);

/** The shape of `temporal-dev.yml`. */
const temporalPlanSchema = z.strictObject({
  version: z.string(),
  test_server_version: z.string(),
  ports: z.strictObject({ frontend: port, web_ui: port }),
  namespace: z.string().min(1),
  task_queue_partitions: z.number().int().min(1),
  search_attributes: z.record(
    z.string(),
    z.enum(['Text', 'Keyword', 'Int', 'Double', 'Bool', 'Datetime', 'KeywordList']),
  ),
  sqlite_pragmas: z.record(z.string(), setting),
  dynamic_configuration: z.record(z.string(), setting),
  small_server_configuration: z.record(z.string(), setting),
});
export type TemporalPlan = z.infer<typeof temporalPlanSchema>;

/** Returns the settings of the Temporal dev server. @throws Error with the mistake in the file */
export function readTemporalPlan(file = inCheckout('temporal-dev.yml')): TemporalPlan {
  const checked = temporalPlanSchema.safeParse(parse(readFileSync(file, 'utf8')));
  if (!checked.success) throw new Error(`${file} is invalid: ${z.prettifyError(checked.error)}`);
  return checked.data;
}
