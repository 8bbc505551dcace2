// The page of what was tested with which clients and suites, from the results in test/compatibility.json: the only place of these figures.
import { readFileSync } from 'node:fs';
import { z } from 'zod';

const file = 'test/compatibility.json';
const count = z.int().min(0);

const client = z.strictObject({
  client: z.string(),
  version: z.string(),
  tested: z.string(),
  run: z.string(),
});

const suite = z.strictObject({
  suite: z.string(),
  version: z.string(),
  /** The server version that the suite was given; absent: not recorded. */
  serverVersion: z.string().optional(),
  nodes: count.min(1),
  date: z.iso.date(),
  passed: count,
  failed: count,
  /** Absent: not counted. */
  skipped: count.optional(),
  /** Failed cases whose documents are missing from the copy of the suite. */
  withoutDocuments: count.optional(),
  notPassed: z.string(),
  run: z.enum(['sdk', 'statements', 'pages']),
});
type Suite = z.infer<typeof suite>;

const results = z.strictObject({ clients: z.array(client).min(1), suites: z.array(suite).min(1) });

const descriptions: Readonly<Record<Suite['run'], string>> = {
  sdk: 'the suite of the SDK at its published version, unmodified, with the address of a node, its account and the server version as parameters',
  statements:
    'the cases of the branch, which are not in this repository, one after the other through the query port of a node with `--services kv,index,n1ql`',
  pages:
    'the statements of all examples in SQL++ of the pages, which are not in this repository, with values for their parameters; commands of `cbq` left out',
};

export function compatibilityPage(): string {
  const { clients, suites } = results.parse(JSON.parse(readFileSync(file, 'utf8')));
  return `${[
    '# Compatibility\n',
    `What was tested with which version, from [the results](../../${file}): after another run of a suite change them there, and \`npm run docs\` makes this`,
    'page. Divan has the interface of the published server 7.1. Everything ran on Linux, with unmodified clients unless their row says otherwise.\n',
    '## Clients\n',
    '| client | version | how it was tested | run by |',
    '|---|---|---|---|',
    ...clients.map(
      ({ client: name, version, tested, run }) => `| ${name} | ${version} | ${tested} | ${run} |`,
    ),
    '\n## Suites\n',
    'The suites of SDKs skip what the server version that they get does not have; empty cells were not recorded. Clusters of three nodes had a copy of',
    'each document.\n',
    '| suite | version | server version given | nodes | date | passed | failed | skipped | not passed, why |',
    '|---|---|---|---|---|---|---|---|---|',
    ...suites.map(suiteRow),
    '\nHow they run:\n',
    `- SDKs: ${descriptions.sdk}.`,
    `- Statements: ${descriptions.statements}.`,
    '\nThe 3 tests of the Go SDK that failed need the `magma` storage backend (1), a ping of search and views (1), or an address that never answers (a',
    'black hole), which the network of the test machine does not have (1). The skipped ones of that suite need search, analytics, eventing, views,',
    'or features added after 7.1. Calls that need what Divan does not have fail at once with an error that names the feature.',
  ].join('\n')}\n`;
}

function suiteRow({ passed, failed, skipped, withoutDocuments, ...row }: Suite): string {
  const share = withoutDocuments === undefined ? '' : `; ${shareOfOthers(passed, failed - withoutDocuments)}`;
  const missing = withoutDocuments === undefined ? '' : ` (of ${withoutDocuments} the documents are missing)`;
  const cells = [
    row.suite,
    row.version,
    row.serverVersion ?? '',
    row.nodes,
    row.date,
    `${figure(passed)}${share}`,
    `${figure(failed)}${missing}`,
    skipped === undefined ? '' : figure(skipped),
    row.notPassed,
  ];
  return `| ${cells.join(' | ')} |`;
}

const figure = (value: number): string => value.toLocaleString('en');
const shareOfOthers = (passed: number, failed: number): string =>
  `${((passed / (passed + failed)) * 100).toFixed(1)} % of those with documents`;
