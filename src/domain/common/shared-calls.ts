/**
 * Returns a function with the same results that shares calls among those who wait for the same key: a call in progress began
 * before they asked, so all of them share the next one.
 */
export function sharingCalls<T>(call: (key: string) => Promise<T>): (key: string) => Promise<T> {
  const running = new Map<string, Promise<T>>();
  const planned = new Map<string, Promise<T>>();

  function start(key: string): Promise<T> {
    planned.delete(key);
    const result = call(key).finally(() => running.delete(key));
    running.set(key, result);
    return result;
  }

  function plan(key: string, before: Promise<unknown>): Promise<T> {
    const begin = () => start(key);
    const result = before.then(begin, begin);
    planned.set(key, result);
    return result;
  }

  return (key) => {
    const before = running.get(key);
    return before === undefined ? start(key) : (planned.get(key) ?? plan(key, before));
  };
}
