// The version of this product, from its package.
import { readFileSync } from 'node:fs';
import { packageRoot } from '#ports/code-place.ts';

const manifest = JSON.parse(readFileSync(new URL('package.json', packageRoot), 'utf8')) as {
  version: string;
};

export const release = manifest.version;
