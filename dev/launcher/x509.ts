import type * as X509 from '@peculiar/x509';

type Metadata = Map<unknown, unknown>;

/**
 * Loads the library that creates certificates. Its dependency injection calls three functions for decorator metadata,
 * which the language does not have. They are defined here before the library is loaded.
 */
export async function loadX509(): Promise<typeof X509> {
  if (!('getMetadata' in Reflect)) Object.assign(Reflect, metadataFunctions());
  return await import('@peculiar/x509');
}

function metadataFunctions() {
  const known = new WeakMap<object, Metadata>();
  const getOwnMetadata = (key: unknown, target: object): unknown => known.get(target)?.get(key);
  const getMetadata = (key: unknown, target: object | null): unknown =>
    target === null ? undefined : (getOwnMetadata(key, target) ?? getMetadata(key, parentOf(target)));
  const defineMetadata = (key: unknown, value: unknown, target: object): void => {
    const own: Metadata = known.get(target) ?? new Map();
    known.set(target, own.set(key, value));
  };
  return { getOwnMetadata, getMetadata, defineMetadata };
}

function parentOf(target: object): object | null {
  return Object.getPrototypeOf(target) as object | null;
}
