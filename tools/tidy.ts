// Checks style: allowed imports between areas, no import cycles between files or folders, banned globals and modules, file sizes.
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

/** For each area of src, the areas its files may import besides their own. A new pair is a decision: say why in the commit. */
const allowed: Record<string, readonly string[]> = {
  base: [],
  ports: ['base'],
  contract: ['base'],
  wire: ['base'],
  replog: ['base', 'ports'],
  auth: ['base', 'ports', 'contract'],
  http: ['base', 'ports', 'contract', 'auth'],
  metrics: ['base', 'ports', 'contract'],
  // The query language, without I/O: text to tree to plan to rows. It reads and writes through the interfaces of src/sqlpp/datastore.
  sqlpp: ['base'],
  // Services with their own threads and ports, which are clients of the data port.
  query: ['base', 'ports', 'contract', 'wire', 'client', 'auth', 'http', 'metrics', 'sqlpp'],
  index: ['base', 'ports', 'contract', 'wire', 'client', 'auth', 'http', 'metrics', 'sqlpp'],
  // Backup and restore of a node through its data ports and REST API, as any client: it works against another node and against clusters.
  // The backup service has REST ports and metrics of its own.
  backup: ['base', 'ports', 'contract', 'wire', 'client', 'auth', 'http', 'metrics'],
  // Replication to other clusters: a client of the data ports of both.
  xdcr: ['base', 'ports', 'wire', 'client'],
  kv: ['base', 'ports', 'wire', 'auth'],
  cluster: [
    'base',
    'ports',
    'contract',
    'wire',
    'replog',
    'auth',
    'http',
    'metrics',
    'client',
    'manual',
    'console',
  ],
  // Clients of a node's ports.
  client: ['base', 'ports', 'wire'],
  // The library for tests, a client of the node that it starts.
  testing: ['base', 'ports', 'wire', 'client'],
  // The pages of docs/ as a site, which a node and the cloud serve.
  manual: ['base', 'ports'],
  // The files of the web consoles, which a node and the cloud serve.
  console: ['base', 'ports'],
  cloud: ['base', 'ports', 'contract', 'auth', 'client', 'manual', 'console'],
  main: [
    'base',
    'ports',
    'contract',
    'wire',
    'replog',
    'auth',
    'http',
    'metrics',
    'kv',
    'cluster',
    'sqlpp',
    'query',
    'index',
    'xdcr',
    'client',
    'backup',
    'cloud',
  ],
};

/** Only cluster/agent (and main, which starts it) may reach the data service, and only through its interface src/kv/admin.ts. */
const importExceptions: readonly { from: RegExp; to: RegExp }[] = [
  { from: /^src\/cluster\/agent\//, to: /^src\/kv\/admin\.ts$/ },
];

/** Folders without input, output, timers and promises: time is an argument. */
const pureFolders =
  /^src\/(base|contract|wire|cluster\/topology|metrics\/(query|encoding)|kv\/(data|vbucket|memory|subdoc|value))\//;

/** Files that may use real time, randomness, files and sockets. */
const outsideWorld = /^src\/(ports|main)\/|\/(host|adapter)s?\/|\.(host|adapter)\.ts$/;

/** Use src/ports/node-http.ts, which says what this import costs; imports of types cost nothing. */
const costlyImport = /^import (?!type ).*from 'node:https?'/;

const bans: readonly { pattern: RegExp; use: string }[] = [
  { pattern: /\bDate\.now\b|\bnew Date\(\)|\bperformance\.now\b|\bprocess\.hrtime\b/, use: 'the Clock port' },
  {
    pattern: /\b(setTimeout|setInterval|setImmediate|queueMicrotask)\(|AbortSignal\.timeout|timers\/promises/,
    use: 'the Clock port',
  },
  {
    pattern: /\bMath\.random\b|\brandomBytes\b|\bgetRandomValues\b|\brandomUUID\b|\brandomInt\b/,
    use: 'the Random port',
  },
  {
    pattern: /\bnew AppError\(|\breply\.(json|text|empty)\(.*\b[45]\d\d\b *[,)]/,
    use: 'an entry of a catalog (*.refusals.ts)',
  },
  { pattern: /\bfetch\(/, use: 'a client that is passed in' },
  { pattern: /\bconsole\./, use: 'the Log port' },
  {
    pattern:
      /^(?!import type).*from 'node:(net|tls|http|https|fs|fs\/promises|sqlite|worker_threads|child_process|dns)'/,
    use: 'a port, host or adapter file',
  },
  { pattern: /\bprocess\.env\b/, use: 'the parsed configuration (src/main)' },
];

/** Split a file that exceeds the first limit. */
const linesMax = 400;
/** Files above the limit, with the lines that each may have; the numbers may only decrease. */
const longFiles: Record<string, number> = {
  'src/cluster/buckets/buckets.service.test.ts': 500,
  'src/cluster/users/users.test.ts': 500,
  'src/http/server.test.ts': 490,
  'src/kv/bucket/bucket.test.ts': 440,
  'src/kv/bucket/documents/memory-documents.ts': 460,
  'src/kv/commands/session.test.ts': 470,
  'src/main/node.ts': 440,
  'src/metrics/store/tier.test.ts': 450,
  'src/sqlpp/expressions/expressions.test.ts': 490,
  'src/sqlpp/text/definition-parser.ts': 420,
  'test/contract/disk-engine.ts': 420,
  'test/support/compared-bucket.ts': 470,
};

const problems: string[] = [];
/** The imports of each file of src, including types. */
const imports = new Map<string, string[]>();
/** Randomness in tests that DIVAN_SEED does not repeat. */
const ownSeed = /Math\.random\(|process\.env(\.|\[')(DIVAN_TEST_)?SEED\b|process\.hrtime\(\)\[1\]/;
/** A literal that is spread into another one has no effect but the layout. */
const spreadLiteral = /\.\.\.(?:\{|\[[^[\]]*\](?:[,)\]]|$))/;
/** A comment that leaves out what it describes ("Of the bucket."): say it ("Uuid of the bucket."). */
const commentWithoutSubject = /(?:\/\*\*|\/\/) (?:Of|Those of|That of|Those that|Those which) /;
/** A comment whose subject is a pronoun ("It may fail."): name the thing ("The disk may fail."). */
const commentWithPronoun = /(?:\/\*\*|\/\/) (?:It|Its|They|Their) /;
/** The name of a class of errors that does not say so. */
const errorWithOtherName = /\bclass \w+(?<!Error) extends \w*Error\b/;
const isTest = (file: string): boolean =>
  (file.startsWith('test/') || file.endsWith('.test.ts')) && file !== 'test/support/seed.ts';

const sources = globSync('{src,test,tools,bench,console}/**/*.{ts,tsx}').sort();
for (const file of sources) checkFile(file);
for (const file of Object.keys(longFiles)) {
  if (!existsSync(file)) problems.push(`${file}: named in tools/tidy.ts but missing`);
  else if (linesOf(readFileSync(file, 'utf8')) <= linesMax)
    problems.push(`${file}: at most ${linesMax} lines now; take it out of longFiles in tools/tidy.ts`);
}
checkCycles();
for (const problem of problems) console.error(problem);
console.log(`tidy: ${sources.length} files, ${problems.length} problems`);
process.exit(problems.length === 0 ? 0 : 1);

function checkFile(file: string): void {
  const text = readFileSync(file, 'utf8');
  const limit = longFiles[file] ?? linesMax;
  if (linesOf(text) > limit) problems.push(`${file}: ${linesOf(text)} lines, split it (limit ${limit})`);
  if (isTest(file)) checkSeeds(file, text);
  checkLines(file, text);
  if (!file.startsWith('src/')) return;
  checkImports(file, text);
  if (file.endsWith('.test.ts')) return;
  checkBans(file, text);
}

function linesOf(text: string): number {
  return text.split('\n').length - 1;
}

function checkImports(file: string, text: string): void {
  for (const [, target] of text.matchAll(/(?:from|import\()\s*'([^']+)'/g)) {
    const path = resolveImport(file, target as string);
    if (path === null) continue;
    imports.set(file, [...(imports.get(file) ?? []), path]);
    if (!path.startsWith('src/')) {
      if (!file.endsWith('.test.ts')) problems.push(`${file}: imports ${path}; src imports only src`);
      continue;
    }
    if (!existsSync(path)) problems.push(`${file}: imports ${path}, which does not exist`);
    const [from, to] = [areaOf(file), areaOf(path)];
    if (from === to || allowed[from]?.includes(to)) continue;
    if (importExceptions.some((exception) => exception.from.test(file) && exception.to.test(path))) continue;
    if (
      path.endsWith('.contract.ts') &&
      (from === 'cloud' || (from === 'cluster' && ['query', 'index', 'xdcr', 'backup'].includes(to)))
    )
      continue;
    problems.push(`${file}: ${from} may not import ${to} (${path})`);
  }
}

/** Checks import cycles between files, and between units: a folder of an area, or a file beside such folders. */
function checkCycles(): void {
  const units = new Map<string, string[]>();
  for (const [file, targets] of imports) {
    if (file.endsWith('.test.ts')) continue;
    const others = targets.map(unitOf).filter((unit) => unit !== unitOf(file));
    units.set(unitOf(file), [...(units.get(unitOf(file)) ?? []), ...others]);
  }
  for (const graph of [imports, units]) {
    for (const cycle of cyclesOf(graph)) problems.push(`an import cycle: ${cycle.join(' -> ')}`);
  }
}

function unitOf(file: string): string {
  return file.split('/').slice(0, 3).join('/');
}

function cyclesOf(graph: ReadonlyMap<string, readonly string[]>): string[][] {
  const cycles: string[][] = [];
  const done = new Set<string>();
  const path: string[] = [];
  const visit = (node: string): void => {
    const at = path.indexOf(node);
    if (at >= 0) cycles.push([...path.slice(at), node]);
    if (at >= 0 || done.has(node)) return;
    path.push(node);
    for (const next of graph.get(node) ?? []) visit(next);
    path.pop();
    done.add(node);
  };
  for (const node of graph.keys()) visit(node);
  return cycles;
}

function resolveImport(file: string, target: string): string | null {
  if (target.startsWith('#')) return `src/${target.slice(1)}`;
  if (target.startsWith('.')) return relative('.', join(dirname(file), target));
  return null;
}

function areaOf(file: string): string {
  return file.split('/')[1] as string;
}

function checkSeeds(file: string, text: string): void {
  text.split('\n').forEach((line, index) => {
    if (ownSeed.test(line))
      problems.push(
        `${file}:${index + 1}: use printedSeed of test/support/seed.ts, so that DIVAN_SEED repeats the run`,
      );
  });
}

function checkLines(file: string, text: string): void {
  text.split('\n').forEach((line, index) => {
    if (spreadLiteral.test(line))
      problems.push(`${file}:${index + 1}: write the members of the literal without a spread`);
    if (commentWithoutSubject.test(line))
      problems.push(`${file}:${index + 1}: begin the comment with what it describes`);
    if (commentWithPronoun.test(line)) problems.push(`${file}:${index + 1}: name the subject of the comment`);
    if (!isTest(file) && errorWithOtherName.test(line))
      problems.push(`${file}:${index + 1}: end the name of the class with Error`);
  });
}

function checkBans(file: string, text: string): void {
  const pure = pureFolders.test(file);
  text.split('\n').forEach((line, index) => {
    const code = line.replace(/\/\/.*$/, '').replace(/^\s*\*.*$/, '');
    if (
      pure &&
      /\basync\b|\bawait\b|\bnew Promise\b|\bPromise\./.test(code) &&
      !/base\/deferred/.test(file)
    ) {
      problems.push(`${file}:${index + 1}: a pure folder has no promises`);
    }
    if (costlyImport.test(code)) problems.push(`${file}:${index + 1}: use src/ports/node-http.ts`);
    if (outsideWorld.test(file) || file === 'src/contract/refusal.ts') return;
    for (const ban of bans) {
      if (ban.pattern.test(code)) problems.push(`${file}:${index + 1}: use ${ban.use}`);
    }
  });
}
