// Builds `dist/`, the JavaScript of the published package, since Node strips no types under `node_modules`. `--clean` removes it,
// so that a checkout runs its sources. Run by `npm pack` and `npm publish`.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const at = (path: string): string => fileURLToPath(new URL(`../${path}`, import.meta.url));

rmSync(at('dist'), { recursive: true, force: true });
if (!process.argv.includes('--clean')) build();

function build(): void {
  const compiler = at('node_modules/typescript/bin/tsc');
  execFileSync(process.execPath, [compiler, '-p', at('tsconfig.build.json')], { stdio: 'inherit' });
  // Node resolves imports that begin with `#` by the nearest package.json; the compiler does not rewrite their `.ts`.
  const manifest = { type: 'module', imports: { '#*.ts': './*.js' } };
  writeFileSync(at('dist/package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  declareTesting(compiler);
}

/** Writes the declarations of `divan/testing`. They import nothing else, and the compiler does not rewrite `.ts` in them. */
function declareTesting(compiler: string): void {
  const folder = mkdtempSync(join(tmpdir(), 'divan-types-'));
  const flags = ['--declaration', '--emitDeclarationOnly', '--outDir', folder];
  execFileSync(process.execPath, [compiler, '-p', at('tsconfig.build.json'), ...flags], { stdio: 'inherit' });
  const entry = readFileSync(join(folder, 'testing/testing.d.ts'), 'utf8');
  const names = [...entry.matchAll(/from '\.\/([\w-]+)\.ts'/g)].map(([, name]) => name);
  for (const name of ['testing', ...names]) {
    const declared = readFileSync(join(folder, `testing/${name}.d.ts`), 'utf8');
    const rewritten = declared.replace(/(from '\.\/[\w-]+)\.ts'/g, "$1.js'");
    writeFileSync(at(`dist/testing/${name}.d.ts`), rewritten);
  }
  rmSync(folder, { recursive: true });
}
