import { build } from 'vite';
import { inCheckout } from '../common/paths.ts';

/* Builds the screens into the folder that its only argument names. Started by `web.ts`. */

await build({
  configFile: inCheckout('web', 'vite.config.ts'),
  logLevel: 'error',
  mode: 'production',
  build: { outDir: process.argv[2] ?? '', emptyOutDir: true },
});
