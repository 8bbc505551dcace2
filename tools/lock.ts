// Completes package-lock.json: an npm whose registry does not carry the packages of other platforms leaves them out, and then
// `npm ci` refuses the lock everywhere. `--check` only tells. Run `npm run lock` after every change of dependencies.
import { readFileSync, writeFileSync } from 'node:fs';

interface Locked {
  version?: string;
  dev?: boolean;
  optional?: boolean;
  optionalDependencies?: Record<string, string>;
  os?: string[];
  cpu?: string[];
  libc?: string[];
}

const path = 'package-lock.json';
const systems = ['android', 'darwin', 'linux', 'win32'];
const processors = ['arm64', 'x64'];

const lock = JSON.parse(readFileSync(path, 'utf8')) as { packages: Record<string, Locked> };
const missing = Object.entries(lock.packages).flatMap(([place, { optionalDependencies = {}, dev }]) =>
  Object.entries(optionalDependencies)
    .filter(
      ([name]) => !lock.packages[`node_modules/${name}`] && !lock.packages[`${place}/node_modules/${name}`],
    )
    .map(([name, version]) => ({ name, version, dev })),
);
if (process.argv.includes('--check')) {
  for (const { name } of missing) console.error(`${path}: ${name} is not there; run npm run lock`);
  process.exit(missing.length === 0 ? 0 : 1);
}
for (const { name, version, dev } of missing) {
  lock.packages[`node_modules/${name}`] = {
    version,
    ...(dev && { dev }),
    optional: true,
    cpu: processors.filter((each) => name.includes(each)),
    os: systems.filter((each) => name.includes(each)),
    ...(name.includes('musl') && { libc: ['musl'] }),
  };
}
lock.packages = Object.fromEntries(Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1)));
writeFileSync(path, `${JSON.stringify(lock, null, 2)}\n`);
