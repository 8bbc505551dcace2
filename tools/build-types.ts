// Writes the declarations of `divan/testing` into `built/types`, for the package. They import nothing else.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const at = (path: string): string => fileURLToPath(new URL(`../${path}`, import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'divan-types-'));
const compiler = [at('node_modules/typescript/bin/tsc'), '-p', at('tsconfig.build.json')];
execFileSync(process.execPath, [...compiler, '--outDir', folder], { stdio: 'inherit' });
rmSync(at('built/types'), { recursive: true, force: true });
mkdirSync(at('built/types'), { recursive: true });
const entry = readFileSync(join(folder, 'testing/testing.d.ts'), 'utf8');
const names = [...entry.matchAll(/from '\.\/([\w-]+)\.ts'/g)].map(([, name]) => name);
for (const name of ['testing', ...names]) {
  const declared = readFileSync(join(folder, `testing/${name}.d.ts`), 'utf8');
  // The compiler does not rewrite `.ts` in declarations.
  writeFileSync(at(`built/types/${name}.d.ts`), declared.replace(/(from '\.\/[\w-]+)\.ts'/g, "$1.js'"));
}
rmSync(folder, { recursive: true });
