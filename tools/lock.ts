// Completes package-lock.json: an npm whose registry does not carry the packages of other platforms leaves them out, and then
// `npm ci` refuses the lock everywhere. `--check` only reports, also packages that Linux installs without an integrity hash, and
// install scripts that package.json does not name. Run `npm run lock` after every change of dependencies.
import { readFileSync, writeFileSync } from 'node:fs';

interface Locked {
  version?: string;
  dev?: boolean;
  optional?: boolean;
  link?: boolean;
  integrity?: string;
  hasInstallScript?: boolean;
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
  const problems = [...missing.map(({ name }) => `${name} is missing; run npm run lock`), ...unpinned()];
  for (const problem of problems) console.error(`${path}: ${problem}`);
  process.exit(problems.length === 0 ? 0 : 1);
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

/** Packages that a Linux machine would install without verification by this file. */
function unpinned(): string[] {
  const { allowScripts } = JSON.parse(readFileSync('package.json', 'utf8')) as {
    allowScripts: Record<string, boolean>;
  };
  return Object.entries(lock.packages).flatMap(([place, { integrity, hasInstallScript, os, libc, link }]) => {
    const name = place.replace(/^.*node_modules\//, '');
    const isOurs = link || !place.includes('node_modules/');
    const isForOtherSystem = libc?.includes('musl') || (os !== undefined && !os.includes('linux'));
    return [
      ...(isOurs || isForOtherSystem || integrity ? [] : [`${place} has no integrity hash`]),
      ...(hasInstallScript && !allowScripts[name] ? [`${place} has an install script`] : []),
    ];
  });
}
