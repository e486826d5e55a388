import { isTerminal, type TaskState } from '../../../src/domain/tasks/task-states.ts';

export type BulkAction = 'cancel' | 'rerun';

/** The most runs that can be selected at once. */
export const MAX_SELECTED = 100;
const AT_ONCE = 5;

/** Returns the runs that an action is possible for: only active runs can be cancelled, only ended ones rerun. */
export function applicableTo<Run extends { state: TaskState }>(
  action: BulkAction,
  runs: readonly Run[],
): Run[] {
  return runs.filter(({ state }) => isTerminal(state) === (action === 'rerun'));
}

/** Returns the selection with ids added or removed. It never has more than {@link MAX_SELECTED}. */
export function withSelected(
  selected: ReadonlySet<string>,
  ids: readonly string[],
  isOn: boolean,
): ReadonlySet<string> {
  if (!isOn) return new Set([...selected].filter((id) => !ids.includes(id)));
  return new Set([...new Set([...selected, ...ids])].slice(0, MAX_SELECTED));
}

/** What became of one item. */
export type BulkResult<Item, Value> = { item: Item } & ({ value: Value } | { error: unknown });

/**
 * Does the same with many items, a few at the same time, and returns the results in their order. An error of one item
 * does not stop the others. `onProgress` is called with the number of finished items.
 */
export async function doForAll<Item, Value>(
  items: readonly Item[],
  act: (item: Item) => Promise<Value>,
  onProgress: (done: number) => void = () => {},
): Promise<BulkResult<Item, Value>[]> {
  const results: BulkResult<Item, Value>[] = [];
  let next = 0;
  let done = 0;
  const work = async () => {
    for (let index = next++; index < items.length; index = next++) {
      const item = items[index] as Item;
      results[index] = await act(item).then(
        (value) => ({ item, value }),
        (error: unknown) => ({ item, error }),
      );
      done += 1;
      onProgress(done);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return results;
}
