import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';
import { componentStyles } from './component-styles.ts';

/** The server puts a fresh nonce in this word's place with every answer. */
const NONCE_PLACE = 'NONCE-OF-THIS-ANSWER';

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react(), componentStyles()],
  html: { cspNonce: NONCE_PLACE },
  build: {
    target: 'baseline-widely-available',
    manifest: true,
    assetsInlineLimit: 0, // a data: address would need a hole in the policy
    reportCompressedSize: false,
    // Chunks are named by hash alone at one place, which is what the server gives out as immutable.
    assetsDir: 'assets',
  },
});
