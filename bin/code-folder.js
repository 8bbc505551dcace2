// Which code to run: `built/node`, or `src` in a checkout whose sources have changed since tools/build-node.ts bundled them.
import { existsSync, readFileSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

/** The file of `built/node` with the size, the time of change and the path of each source. */
export const sourcesFile = 'sources.txt';

export const isCheckout = existsSync(`${root}src`);

export const codeFolder = () => (isCheckout && !isUnchanged() ? 'src' : 'built/node');

/** The variable by which tools/test.ts tells the thousand processes of the tests that this checkout is unchanged: otherwise each would examine nine hundred files. */
export const unchangedVariable = 'DIVAN_UNCHANGED_CHECKOUT';

function isUnchanged() {
  if (process.env[unchangedVariable] === root) return true;
  const list = `${root}built/node/${sourcesFile}`;
  return existsSync(list) && readFileSync(list, 'utf8').trimEnd().split('\n').every(isAsListed);
}

function isAsListed(line) {
  const [size, mtimeMs, file] = line.split(' ');
  const found = statSync(root + file, { throwIfNoEntry: false });
  return found !== undefined && found.size === Number(size) && found.mtimeMs === Number(mtimeMs);
}
