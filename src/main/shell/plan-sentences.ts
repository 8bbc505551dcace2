// A plan of EXPLAIN in sentences: which index is used and why, what is read, what is sorted.

type Node = Readonly<Record<string, unknown>>;

interface Range {
  readonly low?: string;
  readonly high?: string;
  readonly inclusion?: number;
  readonly index_key?: string;
}

/** In the order in which the work is done. Operators without a sentence are left out. */
export function planSentences(plan: unknown): string[] {
  const found = sentencesOf(plan);
  const all = JSON.stringify(plan) ?? '';
  const isSorted = all.includes('"#operator":"Order"');
  if (!isSorted && all.includes('"index_order":'))
    found.push('The index has the rows in the wanted order: nothing is sorted.');
  return found;
}

function sentencesOf(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(sentencesOf);
  if (typeof value !== 'object' || value === null) return [];
  const node = value as Node;
  const inner = ['~children', '~child', 'first', 'second', 'scan', 'scans', 'plan', '~subqueries'].flatMap(
    (name) => (Object.hasOwn(node, name) ? sentencesOf(node[name]) : []),
  );
  return [...inner, ...ownSentences(node)];
}

function ownSentences(node: Node): string[] {
  const name = String(node['#operator']);
  return Object.hasOwn(sentences, name) ? (sentences[name]?.(node) ?? []) : [];
}

const sentences: Readonly<Record<string, (node: Node) => string[]>> = {
  IndexScan3: indexScan,
  PrimaryScan3: wholeScan,
  PrimaryScan: (node) => [`Reads the catalog ${keyspaceOf(node)}.`],
  KeyScan: ({ keys }) => [`Takes the keys of the documents from the statement: ${keys}.`],
  CountScan: (node) => [`Takes the number of documents of ${keyspaceOf(node)} without reading them.`],
  DistinctScan: () => ['Takes each document once, however many entries of the index name it.'],
  UnionScan: () => ['Takes the documents that any of these scans found, each once.'],
  IntersectScan: () => ['Takes only the documents that all of these scans found.'],
  Fetch: (node) => [`Reads the documents of these keys from ${keyspaceOf(node)}.`],
  ExpressionScan: ({ expr }) => [`Takes rows from ${expr}.`],
  Filter: ({ condition }) => [`Keeps the rows where ${condition}.`],
  Unnest: ({ expr, as }) => [`Makes a row of each item of ${expr}, named ${as}.`],
  NestedLoopJoin: (node) => [`Does so for each row of the left side, and keeps the pairs${onClause(node)}.`],
  NestedLoopNest: (node) => [
    `Does so for each row of the left side, and collects what fits${onClause(node)}.`,
  ],
  HashJoin: hashJoin,
  HashNest: hashJoin,
  Join: () => ['Reads the documents of the other side by their keys.'],
  Nest: () => ['Reads the documents of the other side by their keys, as an array.'],
  InitialGroup: ({ group_keys: keys, aggregates }) => [
    `Groups the rows${listed(' by ', keys)}${listed(' and computes ', aggregates)}.`,
  ],
  WindowAggregate: ({ aggregates }) => [
    `Sorts the rows of each window and computes${listed(' ', aggregates)}.`,
  ],
  Distinct: () => ['Drops rows that are equal.'],
  Order: order,
  Offset: ({ expr }) => [`Leaves out the first ${expr} rows.`],
  Limit: ({ expr }) => [`Stops after ${expr} rows.`],
  SendInsert: (node) => [`Inserts the documents into ${keyspaceOf(node)}.`],
  SendUpsert: (node) => [`Writes the documents to ${keyspaceOf(node)}.`],
  SendUpdate: (node) => [`Writes the changed documents to ${keyspaceOf(node)}.`],
  SendDelete: (node) => [`Deletes these documents from ${keyspaceOf(node)}.`],
  Merge: (node) => [`Inserts, changes or deletes documents of ${keyspaceOf(node)}.`],
  UnionAll: () => ['Takes the rows of both queries.'],
};

function indexScan(node: Node): string[] {
  const spans = (node['spans'] ?? []) as readonly { readonly range?: readonly Range[] }[];
  const texts = [
    ...new Set(spans.map(({ range = [] }) => range.map(rangeText).filter(Boolean).join(' and '))),
  ];
  const keys = [
    ...new Set(spans.flatMap(({ range = [] }) => range.filter(rangeText).map((each) => each.index_key))),
  ];
  const bounded = texts.filter((text) => text !== '');
  const scan = `Scans the index ${node['index']} of ${keyspaceOf(node)}`;
  const reason =
    bounded.length === 0
      ? [`${scan} as a whole.`]
      : [
          `${scan}, because the statement bounds ${keys.filter(Boolean).join(', ') || 'the keys of the documents'}: ${shortened(bounded)}.`,
        ];
  return [
    ...reason,
    ...(node['covers'] ? ['The index has every field that is needed: no document is read.'] : []),
    ...(node['limit'] ? [`The scan ends after ${node['limit']} entries.`] : []),
  ];
}

const spansShown = 4;

function shortened(texts: readonly string[]): string {
  const more = texts.length - spansShown;
  return `${texts.slice(0, spansShown).join(', or ')}${more > 0 ? `, and ${more} more ranges` : ''}`;
}

function rangeText({ low, high, inclusion = 0, index_key: key }: Range): string {
  const name = key ?? 'the key';
  if (low !== undefined && low === high) return `${name} = ${low}`;
  const isOpen = low === 'null' && inclusion % 2 === 0;
  const parts = [
    low === undefined || isOpen ? '' : `${name} ${inclusion & 1 ? '>=' : '>'} ${low}`,
    high === undefined ? '' : `${name} ${inclusion & 2 ? '<=' : '<'} ${high}`,
  ].filter((part) => part !== '');
  return parts.length === 0 && isOpen ? `${name} is present` : parts.join(' and ');
}

function wholeScan(node: Node): string[] {
  const limit = node['limit'] ? [`The scan ends after ${node['limit']} documents.`] : [];
  if (node['using'] === 'sequentialscan')
    return [
      `Reads the whole of ${keyspaceOf(node)}, because no index serves the statement; ADVISE recommends one.`,
      ...limit,
    ];
  return [
    `Reads all keys of ${keyspaceOf(node)} by the primary index ${node['index']}, because no other index serves the statement; ADVISE recommends one.`,
    ...limit,
  ];
}

function hashJoin(node: Node): string[] {
  const keys = listed(' by ', node['build_exprs']);
  return [`Keeps these rows in a hash table${keys}, and looks up each row of the left side in it.`];
}

function onClause({ on_clause: condition }: Node): string {
  return condition === undefined ? '' : ` where ${condition}`;
}

function order(node: Node): string[] {
  const terms = (node['sort_terms'] ?? []) as readonly { readonly expr: string; readonly desc?: unknown }[];
  const list = terms.map(({ expr, desc }) => `${expr}${desc === undefined ? '' : ' descending'}`).join(', ');
  const limit = node['limit'] === undefined ? '' : `, keeping the first ${node['limit']} in memory`;
  return [`Sorts the rows by ${list}${limit}.`];
}

function listed(before: string, list: unknown): string {
  return Array.isArray(list) && list.length > 0 ? `${before}${list.join(', ')}` : '';
}

function keyspaceOf({ bucket, scope, keyspace, namespace, as }: Node): string {
  const path = bucket === undefined ? `${keyspace}` : `${bucket}.${scope}.${keyspace}`;
  return `${namespace === '#system' ? 'system:' : ''}${path}${as === undefined ? '' : ` (${as})`}`;
}
