// Entry of `divan/testing`: from its bundle, or from its sources where these have changed. Loaded synchronously, so that
// CommonJS can require it.
import { createRequire } from 'node:module';
import { codeFolder } from './code-folder.js';

if (Number(process.versions.node.split('.')[0]) < 24)
  throw new Error(`divan/testing: needs Node 24 or newer (this is ${process.version})`);
const load = createRequire(import.meta.url);

export const { startNode, useNode } = load(
  codeFolder() === 'src' ? '../src/testing/testing.ts' : '../built/node/testing.js',
);
