// Checks the exports of src: another file uses every exported value, and one name means one thing. A name that two areas
// export is listed below with the reason why both may keep it.
import { globSync, readFileSync } from 'node:fs';

/** Names that several areas export, by the reason why each area may keep its own. Remove a name once it is unique. */
const sharedNames: Readonly<Record<string, readonly string[]>> = {
  'SQL++ names its statements, clauses and plan steps as the language does': [
    'Delete',
    'DropScope',
    'DropCollection',
    'Field',
    'Group',
    'Join',
    'Frame',
    'Target',
    'WindowFunction',
    'Source',
    'Privilege',
    'QueryContext',
    'Version',
    'add',
    'update',
    'remove',
    'replace',
    'Command',
    'Phase',
    'Outcome',
    'Row',
    'Run',
    'Plan',
    'Step',
    'Access',
    'scan',
    'bodyOf',
  ],
  'both REST APIs, or a REST API and the data port, offer it under its published name': [
    'CreateBucket',
    'DeleteBucket',
    'ListBuckets',
    'listBuckets',
    'GetManifest',
    'BucketStats',
    'BucketSpec',
    'services',
    'UserChange',
    'entriesMax',
    'Caller',
    'listKeys',
    'EventKind',
  ],
  'an area declares the plain data that it takes, since it may not import the other area': [
    'BucketType',
    'EvictionPolicy',
    'DurabilityMinLevel',
    'CompactionRequest',
    'CollectionState',
    'ManifestState',
    'ShardPosition',
    'DataService',
    'StoredDocument',
    'FetchedDocument',
    'Documents',
    'DurabilityLevel',
    'FailoverEntry',
    'NodePorts',
    'ProcessFigures',
    'CollectionScan',
    'Change',
  ],
  'each file format and frame format has its own': [
    'applicationId',
    'sql',
    'pageBytes',
    'headerBytes',
    'keyBytesMax',
    'Entry',
    'pageOf',
    'Output',
  ],
  'each request pipeline has its own': [
    'Request',
    'Reply',
    'Handler',
    'Operation',
    'Environment',
    'Session',
    'Authority',
    'bind',
    'contextOf',
    'statusOf',
    'Problems',
    'Listener',
    'Directory',
    'Match',
  ],
  'a general word for a small helper; no file imports both': [
    'integerOf',
    'accessTo',
    'signatureOf',
    'durationOf',
    'plainValue',
    'Samples',
    'planOf',
    'choice',
    'refusalOf',
    'keyText',
    'nameProblem',
  ],
};
const allShared: ReadonlySet<string> = new Set(Object.values(sharedNames).flat());

interface Export {
  readonly file: string;
  readonly area: string;
  readonly name: string;
  readonly isType: boolean;
}

const declaration =
  /^export (?:declare )?(?:async )?(?:abstract )?(const|let|function\*?|class|interface|type) (\w+)/gm;

const texts = new Map(
  globSync('{{src,test,tools,bench}/**/*.ts,console/src/**/*.{ts,tsx}}').map((file) => [
    file,
    readFileSync(file, 'utf8'),
  ]),
);
const exported = [...texts].flatMap(([file, text]) => exportsOf(file, text));
const words = wordsByFile();
const problems = [...unused(), ...shared(), ...stale()];
for (const problem of problems) console.error(problem);
console.log(`exports: ${exported.length} names, ${problems.length} problems`);
process.exit(problems.length === 0 ? 0 : 1);

function exportsOf(file: string, text: string): Export[] {
  if (!file.startsWith('src/') || file.endsWith('.test.ts')) return [];
  const area = file.split('/')[1] as string;
  return [...text.matchAll(declaration)].map(([, kind, name]) => ({
    file,
    area,
    name: name as string,
    isType: kind === 'interface' || kind === 'type',
  }));
}

/** By word: in how many files it occurs. */
function wordsByFile(): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const text of texts.values()) {
    for (const word of new Set(text.match(/\w+/g))) counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  return counts;
}

function unused(): string[] {
  return (
    exported
      // Documentation tools enumerate the exports of contract files.
      .filter(({ file }) => !file.endsWith('.contract.ts'))
      .filter(({ name, isType }) => !isType && (words.get(name) ?? 0) < 2)
      .map(({ file, name }) => `${file}: exports ${name}, which no other file names; remove the export`)
  );
}

function shared(): string[] {
  return [...filesByName()]
    .filter(([name, files]) => areasOf(files).length > 1 && !allShared.has(name))
    .map(
      ([name, files]) =>
        `${name} is exported by several areas (${files.join(', ')}): rename one, or list it in tools/exports.ts with a reason`,
    );
}

function stale(): string[] {
  const byName = filesByName();
  return [...allShared]
    .filter((name) => areasOf(byName.get(name) ?? []).length < 2)
    .map((name) => `tools/exports.ts lists ${name}, which several areas no longer export`);
}

function filesByName(): ReadonlyMap<string, string[]> {
  const files = new Map<string, string[]>();
  for (const { name, file } of exported) files.set(name, [...new Set([...(files.get(name) ?? []), file])]);
  return files;
}

function areasOf(files: readonly string[]): string[] {
  return [...new Set(files.map((file) => file.split('/')[1] as string))];
}
