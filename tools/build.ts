// Makes `dist/`, the JavaScript of the published package: Node strips no types under `node_modules`. With `--clean` it goes again,
// so that a checkout runs its sources and nothing else. Run by `npm pack` and `npm publish`.
import { execFileSync } from 'node:child_process';
import { cpSync, globSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const at = (path: string): string => fileURLToPath(new URL(`../${path}`, import.meta.url));

rmSync(at('dist'), { recursive: true, force: true });
if (!process.argv.includes('--clean')) build();

function build(): void {
  const compiler = at('node_modules/typescript/bin/tsc');
  execFileSync(process.execPath, [compiler, '-p', at('tsconfig.build.json')], { stdio: 'inherit' });
  for (const page of globSync('src/cluster/ui/page/*', { cwd: at('.') }))
    cpSync(at(page), at(page.replace(/^src/, 'dist')));
  // Imports that begin with `#` are looked up in the nearest of these; the compiler leaves their `.ts` as it is.
  const manifest = { type: 'module', imports: { '#*.ts': './*.js' } };
  writeFileSync(at('dist/package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
}
