// Checks that this checkout can be published: version, changelog, licences, a clean tree. `npm run release -- --check` only checks;
// without the flag it makes the package and prints what the owner runs next. It publishes nothing.
import { execFileSync } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Licences that permit use together with Apache-2.0 without further conditions than keeping their text. */
const permitted = new Set([
  'Apache-2.0',
  'MIT',
  'MIT-0',
  'ISC',
  '0BSD',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'Unlicense',
]);

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly private?: boolean;
  readonly license?: string;
}

interface LockedPackage {
  readonly version?: string;
  readonly dev?: boolean;
  readonly integrity?: string;
  readonly license?: string;
}

const text = (path: string): string => (existsSync(path) ? readFileSync(path, 'utf8') : '');
const git = (...args: string[]): string => execFileSync('git', args, { encoding: 'utf8' }).trim();

const manifest = JSON.parse(text('package.json')) as Manifest;
const lock = JSON.parse(text('package-lock.json')) as { packages: Record<string, LockedPackage> };
const problems = [...versionProblems(), ...changelogProblems(), ...licenceProblems(), ...treeProblems()];
for (const problem of problems) console.error(problem);
console.log(`release ${manifest.version}: ${problems.length} problems`);
if (problems.length > 0) process.exitCode = 1;
else if (!process.argv.includes('--check')) make();

function versionProblems(): string[] {
  const { name, version } = manifest;
  const found: string[] = [];
  if (!/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))
    found.push(`package.json: "version" is "${version}"; it should look like 1.2.3`);
  if (manifest.private) found.push('package.json: "private" is set, so that npm refuses to publish it');
  const locked = lock.packages['']?.version;
  if (locked !== version)
    found.push(`package-lock.json: has version ${locked}, package.json ${version}; run npm install`);
  for (const page of ['README.md', ...globSync('docs/guides/*.md')])
    for (const [file, other] of text(page).matchAll(
      new RegExp(`\\b${name}-(\\d+\\.\\d+\\.\\d+)[\\w.-]*`, 'g'),
    ))
      if (other !== version) found.push(`${page}: names ${file}; the version is ${version}`);
  return found;
}

function changelogProblems(): string[] {
  const [, first = '', rest = ''] =
    /^## (.+)\n([\s\S]*?)(?=^## |$(?![\s\S]))/m.exec(text('CHANGELOG.md')) ?? [];
  if (first.split(' ')[0] !== manifest.version)
    return [`CHANGELOG.md: its first section is "${first}"; it should be "${manifest.version}"`];
  return /^- /m.test(rest) ? [] : [`CHANGELOG.md: the section "${first}" says nothing`];
}

/** Problems with the licence of this package and of all that are installed with it. */
function licenceProblems(): string[] {
  const found: string[] = [];
  if (manifest.license === undefined || text('LICENSE') === '')
    found.push('package.json and LICENSE: name the licence, and have its text');
  for (const [path, { dev, integrity }] of Object.entries(lock.packages)) {
    if (path === '' || dev || integrity === undefined) continue;
    const installed = text(join(path, 'package.json'));
    const license =
      installed === '' ? lock.packages[path]?.license : (JSON.parse(installed) as Manifest).license;
    if (!permitted.has(String(license)))
      found.push(`${path}: has the licence ${license ?? '(none)'}, which tools/release.ts does not list`);
  }
  return found;
}

function treeProblems(): string[] {
  const found: string[] = [];
  const changed = git('status', '--porcelain');
  if (changed !== '') found.push(`git: changes that are not committed:\n${changed}`);
  const tag = `v${manifest.version}`;
  if (git('tag', '--list', tag) !== '') found.push(`git: the tag ${tag} exists; raise the version`);
  return found;
}

function make(): void {
  const archive = execFileSync('npm', ['pack', '--silent'], { encoding: 'utf8' }).trim();
  const tag = `v${manifest.version}`;
  console.log(
    `made ${archive}. To publish it:\n  git tag ${tag} && git push origin ${tag}\n  npm publish ./${archive}`,
  );
}
