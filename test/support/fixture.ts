/** How often a fixture is opened: once for a `describe`, or for each of its tests. */
export type Scope = 'describe' | 'each test';

/**
 * Registers hooks that open something for a `describe`, or for each test of it, and close it. The result is filled when
 * it is open.
 */
export function useFixture<T extends { close(): Promise<unknown> }>(
  open: () => Promise<T>,
  scope: Scope = 'describe',
): T {
  const fixture = {} as T;
  const [first, last] = scope === 'describe' ? [before, after] : [beforeEach, afterEach];
  let opened: T | null = null;
  first(async () => {
    opened = await open();
    Object.assign(fixture, opened);
  });
  last(async () => {
    await opened?.close();
    opened = null;
  });
  return fixture;
}
