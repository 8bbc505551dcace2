// Entry of `divan/testing`: from the sources in a checkout, from JavaScript in the published package. Loaded synchronously, so that
// CommonJS can require it.
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';

if (Number(process.versions.node.split('.')[0]) < 24)
  throw new Error(`divan/testing: needs Node 24 or newer (this is ${process.version})`);
const isCheckout = existsSync(new URL('../src', import.meta.url));
const load = createRequire(import.meta.url);

export const { startNode, useNode } = load(
  isCheckout ? '../src/testing/testing.ts' : '../dist/testing/testing.js',
);
