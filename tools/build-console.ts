// Builds the web consoles of a node and of the cloud into `built/console`, unless they were built from the same sources. Run by npm after an install in a checkout,
// before a package is made, and by the tests of the console. Other processes may read the folder meanwhile: it is missing only
// between two renames.
import { createHash } from 'node:crypto';
import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'vite';
import { replaceFolder } from './replace-folder.ts';

const checkout = fileURLToPath(new URL('..', import.meta.url));
const target = `${checkout}built/console`;
const digest = digestOfSources();
if (builtFrom() !== digest) await rebuild();

async function rebuild(): Promise<void> {
  const folder = `${checkout}built/console.${process.pid}`;
  mkdirSync(folder, { recursive: true });
  await build({ root: `${checkout}console`, logLevel: 'warn', build: { outDir: folder, emptyOutDir: true } });
  compress(folder);
  writeFileSync(`${folder}/sources.sha256`, `${digest}\n`);
  replaceFolder(folder, target, () => builtFrom() === digest);
}

/** Writes a compressed form beside each file, so that the node compresses nothing. */
function compress(folder: string): void {
  for (const name of globSync('**/*.{html,js,css}', { cwd: folder }))
    writeFileSync(`${folder}/${name}.gz`, gzipSync(readFileSync(`${folder}/${name}`), { level: 9 }));
}

function builtFrom(): string | null {
  const path = `${target}/sources.sha256`;
  return existsSync(path) ? readFileSync(path, 'utf8').trim() : null;
}

function digestOfSources(): string {
  const hash = createHash('sha256');
  const files = [
    'console/**/*.*',
    'src/cloud/clusters/instances.ts',
    'src/main/shell/plan-sentences.ts',
    'src/base/exact-json.ts',
    'src/sqlpp/text/keywords.ts',
    'package-lock.json',
    'tools/build-console.ts',
  ];
  for (const file of files.flatMap((pattern) => globSync(pattern, { cwd: checkout })).sort())
    hash.update(`${file}\n`).update(readFileSync(`${checkout}${file}`));
  return hash.digest('hex');
}
