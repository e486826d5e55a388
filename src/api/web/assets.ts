import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

/** Allowed file names below `/assets/`. None of them can leave the folder, or is too long for a file system. */
const NAME = /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}\.(js|css|svg|woff2|png)$/;

const TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  woff2: 'font/woff2',
  png: 'image/png',
};

/** One build has fewer files. The limit bounds memory. */
const MAX_ASSETS = 500;

export type Encoding = 'br' | 'gzip' | 'identity';
type Asset = { type: string; bytes: Readonly<Record<Encoding, Buffer>> };

/** Returns a lookup of the hashed files of a build, each compressed once; null for an unknown name. */
export function createAssets(folder: string): (name: string) => Promise<Asset | null> {
  const known = new Map<string, Asset>();

  return async function assetNamed(name) {
    const there = known.get(name);
    if (there) return there;
    const type = TYPES[NAME.exec(name)?.[1] ?? ''];
    if (type === undefined) return null;
    const plain = await readOrNull(join(folder, 'assets', name));
    if (plain === null) return null;
    const asset = { type, bytes: await compressed(plain) };
    if (known.size >= MAX_ASSETS) known.clear();
    known.set(name, asset);
    return asset;
  };
}

async function compressed(identity: Buffer): Promise<Record<Encoding, Buffer>> {
  const params = { [constants.BROTLI_PARAM_QUALITY]: 9 };
  const [br, gz] = await Promise.all([
    promisify(brotliCompress)(identity, { params }),
    promisify(gzip)(identity),
  ]);
  return { identity, br, gzip: gz };
}

/** Returns the bytes of a file; null if it does not exist. */
export async function readOrNull(file: string): Promise<Buffer | null> {
  try {
    return await readFile(file);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    throw error;
  }
}
