// Makes the archive for a platform: the package, its production dependencies and Node. It is unpacked and run, with nothing else
// installed. `npm run dist` makes it for this platform, with the Node that the checkout runs on, and writes it into the current folder;
// `--out FOLDER` into another; `--package FILE` takes a package that `npm pack` has made. `--platform NAME` makes it for another
// platform: for Linux with a Node that npm downloads and whose checksum package-lock.json has, for macOS with that of `--node FILE`.
// `--level 0` does not compress it.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  cpSync,
  createReadStream,
  createWriteStream,
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
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { createGzip } from 'node:zlib';

const checkout = fileURLToPath(new URL('..', import.meta.url));
const { values } = parseArgs({
  options: {
    out: { type: 'string', default: '.' },
    package: { type: 'string' },
    platform: { type: 'string', default: `${process.platform}-${process.arch}` },
    node: { type: 'string' },
    level: { type: 'string', default: '6' },
  },
});

const platforms = ['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64'];

const { platform } = values;
if (!platforms.includes(platform)) throw new Error(`--platform ${platform}: one of ${platforms.join(', ')}`);
const isOwnPlatform = platform === `${process.platform}-${process.arch}`;
const out = resolve(values.out);
const { version } = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8')) as { version: string };
const name = `divan-${version}-${platform}`;
const scratch = mkdtempSync(join(tmpdir(), 'divan-dist-'));
try {
  const folder = join(scratch, name);
  unpack(values.package ?? pack(), folder);
  addDependencies(join(folder, 'lib/node_modules'));
  addNode(join(folder, 'lib'));
  addRest(folder);
  const archive = join(out, `${name}.tar.gz`);
  const plain = join(scratch, 'archive.tar');
  execFileSync('tar', ['-cf', plain, '--owner=0', '--group=0', '-C', scratch, name]);
  const compress = createGzip({ level: Number(values.level) });
  await pipeline(createReadStream(plain), compress, createWriteStream(archive));
  console.log(archive);
} finally {
  rmSync(scratch, { recursive: true, force: true });
}

function pack(): string {
  const printed = execFileSync('npm', ['pack', '--silent', '--pack-destination', scratch], {
    cwd: checkout,
    encoding: 'utf8',
  });
  return join(scratch, basename(printed.trim().split('\n').at(-1) as string));
}

function unpack(archive: string, folder: string): void {
  mkdirSync(folder);
  execFileSync('tar', ['-xzf', archive, '-C', folder]);
  renameSync(join(folder, 'package'), join(folder, 'lib'));
}

interface LockedPackage {
  readonly version?: string;
  readonly integrity?: string;
  readonly dev?: boolean;
  readonly link?: boolean;
}

function lockedPackages(): Readonly<Record<string, LockedPackage>> {
  const lock = JSON.parse(readFileSync(join(checkout, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, LockedPackage>;
  };
  return lock.packages;
}

/** Copies the packages that npm would install for a user of the package. */
function addDependencies(target: string): void {
  for (const [path, { dev, link }] of Object.entries(lockedPackages())) {
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
  const [program, licence] = nodeFiles();
  copyFileSync(program, join(lib, 'node'));
  chmodSync(join(lib, 'node'), 0o755);
  copyFileSync(licence, join(lib, 'node.LICENSE'));
}

/** Node for the platform, and its licence. */
function nodeFiles(): [program: string, licence: string] {
  // All platforms have the same licence.
  if (values.node !== undefined) return [values.node, licenceBeside(process.execPath)];
  if (isOwnPlatform) return [process.execPath, licenceBeside(process.execPath)];
  const program = join(download(), 'bin/node');
  return [program, licenceBeside(program)];
}

function licenceBeside(program: string): string {
  const folder = dirname(program);
  const found = [join(folder, '../LICENSE'), join(folder, '../share/doc/node/LICENSE')].find((path) =>
    existsSync(path),
  );
  if (found === undefined) throw new Error(`there is no licence of Node beside ${program}`);
  return found;
}

/** Returns the folder of the unpacked package. */
function download(): string {
  const name = `node-${platform}`;
  const found = lockedPackages()[`node_modules/${name}`];
  if (!found) throw new Error(`--node: name the file of a Node for ${platform}, from https://nodejs.org`);
  const [packed] = JSON.parse(
    execFileSync('npm', ['pack', '--json', '--pack-destination', scratch, `${name}@${found.version}`], {
      encoding: 'utf8',
      maxBuffer: 64 << 20,
    }),
  ) as [{ filename: string }];
  const archive = join(scratch, packed.filename);
  const integrity = `sha512-${createHash('sha512').update(readFileSync(archive)).digest('base64')}`;
  if (integrity !== found.integrity)
    throw new Error(`${name}@${found.version} has the checksum ${integrity}, not ${found.integrity}`);
  const folder = join(scratch, 'node');
  mkdirSync(folder);
  execFileSync('tar', ['-xzf', archive, '-C', folder, '--strip-components=1']);
  return folder;
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
    const script = execFileSync(process.execPath, [join(folder, 'lib/bin/divan.js'), 'completion', shell]);
    writeFileSync(join(folder, 'completions', file), script);
  }
  // The compiled form of the code that those commands loaded.
  rmSync(join(folder, 'lib/node_modules/.cache'), { recursive: true, force: true });
}
