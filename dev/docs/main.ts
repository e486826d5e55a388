import { readFileSync, writeFileSync } from 'node:fs';
import { GENERATED } from './generated.ts';
import { inCheckout } from '../common/paths.ts';

/* `node dev/docs/main.ts`: generates files from the code. A test fails if one of them is out of date. */
for (const { path, make } of GENERATED) {
  const text = await make();
  if (textOf(path) === text) continue;
  writeFileSync(inCheckout(path), text);
  console.log(`  written: ${path}`);
}

function textOf(path: string): string | null {
  try {
    return readFileSync(inCheckout(path), 'utf8');
  } catch {
    return null;
  }
}
