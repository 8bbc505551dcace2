// Makes the archive for this platform: the package, its production dependencies and the Node that the checkout runs on. It is unpacked
// and run, with nothing else installed. `npm run dist` writes it into the current folder; `--out FOLDER` into another; `--package FILE`
// takes a package that `npm pack` has made.
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const checkout = fileURLToPath(new URL('..', import.meta.url));
const { values } = parseArgs({
  options: { out: { type: 'string', default: '.' }, package: { type: 'string' } },
});
const out = resolve(values.out);
const { version } = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8')) as { version: string };
const name = `divan-${version}-${process.platform}-${process.arch}`;
const scratch = mkdtempSync(join(tmpdir(), 'divan-dist-'));
try {
  const folder = join(scratch, name);
  unpack(values.package ?? pack(), folder);
  addDependencies(join(folder, 'lib/node_modules'));
  addNode(join(folder, 'lib'));
  addRest(folder);
  const archive = join(out, `${name}.tar.gz`);
  execFileSync('tar', ['-czf', archive, '--owner=0', '--group=0', '-C', scratch, name]);
  console.log(archive);
} finally {
  rmSync(scratch, { recursive: true, force: true });
}

function pack(): string {
  const made = execFileSync('npm', ['pack', '--silent', '--pack-destination', scratch], {
    cwd: checkout,
    encoding: 'utf8',
  });
  return join(scratch, basename(made.trim().split('\n').at(-1) as string));
}

function unpack(archive: string, folder: string): void {
  mkdirSync(folder);
  execFileSync('tar', ['-xzf', archive, '-C', folder]);
  renameSync(join(folder, 'package'), join(folder, 'lib'));
}

interface LockedPackage {
  readonly dev?: boolean;
  readonly link?: boolean;
}

/** Those that npm would install for a user of the package. */
function addDependencies(target: string): void {
  const { packages } = JSON.parse(readFileSync(join(checkout, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, LockedPackage>;
  };
  for (const [path, { dev, link }] of Object.entries(packages)) {
    const source = join(checkout, path);
    if (!path.startsWith('node_modules/') || dev || link || !existsSync(source)) continue;
    const own = (from: string): boolean => !from.slice(source.length).includes('/node_modules');
    cpSync(source, join(target, path.slice('node_modules/'.length)), {
      recursive: true,
      dereference: true,
      filter: own,
    });
  }
}

function addNode(lib: string): void {
  copyFileSync(process.execPath, join(lib, 'node'));
  chmodSync(join(lib, 'node'), 0o755);
  const licence = [
    join(dirname(process.execPath), '../LICENSE'),
    join(dirname(process.execPath), '../share/doc/node/LICENSE'),
  ].find((path) => existsSync(path));
  if (licence === undefined) throw new Error(`there is no licence of Node beside ${process.execPath}`);
  copyFileSync(licence, join(lib, 'node.LICENSE'));
}

function addRest(folder: string): void {
  for (const part of ['bin', 'completions', 'systemd']) mkdirSync(join(folder, part));
  const packaging = (file: string): string => join(checkout, 'packaging', file);
  copyFileSync(packaging('divan.sh'), join(folder, 'bin/divan'));
  chmodSync(join(folder, 'bin/divan'), 0o755);
  copyFileSync(packaging('divan.service'), join(folder, 'systemd/divan.service'));
  copyFileSync(packaging('README.txt'), join(folder, 'README.txt'));
  copyFileSync(join(checkout, 'LICENSE'), join(folder, 'LICENSE'));
  for (const [shell, file] of Object.entries({ bash: 'divan.bash', zsh: '_divan', fish: 'divan.fish' })) {
    const script = execFileSync(join(folder, 'bin/divan'), ['completion', shell]);
    writeFileSync(join(folder, 'completions', file), script);
  }
  // The compiled form of the code that those commands loaded.
  rmSync(join(folder, 'lib/node_modules/.cache'), { recursive: true, force: true });
}
