// Entry of `divan/testing`: from the sources in a checkout, from JavaScript in the published package. Loaded synchronously, so that
// CommonJS can require it.
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';

const isCheckout = existsSync(new URL('../src', import.meta.url));
const load = createRequire(import.meta.url);

export const { startNode, useNode } = load(
  isCheckout ? '../src/testing/testing.ts' : '../dist/testing/testing.js',
);
