// ADVISE: indexes that would serve a statement.
import { adviceFor } from '../advice/advice.ts';
import { indexName } from '../advice/advice-text.ts';
import type { Advice, AdvisedIndex } from '../advice/advised-index.ts';
import type { IndexDefinition } from '../datastore/indexes.ts';
import type { Keyspace } from '../datastore/keyspace.ts';
import { formatExpression } from '../text/format.ts';
import { parseStatement } from '../text/parser.ts';
import type { Advise } from '../tree/statement.ts';
import { parseJson } from '../values/json-parse.ts';
import { newObject, type Value } from '../values/value.ts';
import type { ExecuteContext, PrepareContext, Prepared } from './engine.ts';

/** `current`: the statement with the indexes that it uses now. */
export async function adviseRow(
  tree: Advise,
  current: Prepared,
  context: PrepareContext,
  execution: ExecuteContext,
): Promise<Value> {
  const row = newObject();
  row['#operator'] = 'Advise';
  const advice = newObject();
  advice['#operator'] = 'IndexAdvice';
  advice['adviseinfo'] = adviceInfo(current, context, await adviceOf(tree, context, execution));
  row['advice'] = advice;
  row['query'] = tree.text;
  return row;
}

/** Resolves missing keyspaces, and plans without existing indexes. */
export function adviseContext(context: PrepareContext): PrepareContext {
  const { catalog, documents, indexes } = context.datastore;
  const find: PrepareContext['datastore']['find'] = (name) => {
    const found = context.datastore.find(name);
    return typeof found === 'string' ? { name, bucketUuid: '', scopeId: 0, collectionId: 0 } : found;
  };
  const of: typeof indexes.of = (keyspace) => (keyspace.bucketUuid === '' ? [] : indexes.of(keyspace));
  const indexesWithAdvice: typeof indexes = {
    of,
    scan: (scan) => indexes.scan(scan),
    count: (scan) => indexes.count(scan),
    figures: (index) => indexes.figures(index),
  };
  return {
    ...context,
    sequentialScans: true,
    datastore: { ...context.datastore, catalog, documents, find, indexes: indexesWithAdvice },
  };
}

/** Advises twice: the first pass finds fields that may distinguish kinds of documents, and a sample of documents decides. */
async function adviceOf(tree: Advise, context: PrepareContext, execution: ExecuteContext): Promise<Advice[]> {
  const candidates = new Map<Keyspace, Set<string>>();
  const advise = (isKind: (keyspace: Keyspace, field: string, value: string) => boolean): Advice[] =>
    adviceFor(tree.statement, tree.text, { ...context, isKind });
  const first = advise((keyspace, field) => {
    const fields = candidates.get(keyspace) ?? new Set();
    candidates.set(keyspace, fields.add(field));
    return false;
  });
  if (candidates.size === 0) return first;
  const indexShapes = new Set<string>();
  for (const [keyspace, fields] of candidates) {
    for (const field of await constantFields(keyspace, fields, execution))
      indexShapes.add(`${keyspace.collectionId} ${keyspace.bucketUuid} ${field}`);
  }
  return advise(
    ({ collectionId, bucketUuid }, field) =>
      kindField.test(field) || indexShapes.has(`${collectionId} ${bucketUuid} ${field}`),
  );
}

const kindField = /^_?(doc|document)?_?(type|kind)_?$/i;
const sampleMax = 100;

/** Fields that have the same text in every document of a small sample. */
async function constantFields(
  keyspace: Keyspace,
  fields: ReadonlySet<string>,
  { datastore, signal }: ExecuteContext,
): Promise<string[]> {
  if (keyspace.bucketUuid === '') return [];
  const sample: Value[] = [];
  for await (const batch of datastore.documents.scan(keyspace, { signal })) {
    for (const document of batch) if (document.isJson) sample.push(parseJson(document.bytes));
    if (sample.length >= sampleMax) break;
  }
  const memberOf = (value: Value, field: string): Value =>
    typeof value === 'object' && value !== null ? (value as Record<string, Value>)[field] : undefined;
  return [...fields].filter((field) => {
    const [first] = sample;
    const value = memberOf(first, field);
    return (
      sample.length > 1 &&
      typeof value === 'string' &&
      sample.every((each) => memberOf(each, field) === value)
    );
  });
}

function adviceInfo(current: Prepared, context: PrepareContext, advice: readonly Advice[]): Value {
  const info = newObject();
  const { plain, covering } = entriesOf(advice);
  const used = currentIndexes(current, context, plain, covering);
  if (used.length > 0) info['current_indexes'] = used;
  const usedShapes = new Set(usedDefinitions(current, context).map(shapeOfDefinition));
  const isCurrent = (entry: Entry): boolean => usedShapes.has(shapeOf(entry));
  const isCovered = covering.length > 0 && covering.every(isCurrent);
  const [newCovering, newPlain] = [covering, isCovered ? [] : plain].map((list) =>
    list.filter((entry) => !isCurrent(entry)),
  ) as [Entry[], Entry[]];
  if (plain.length === 0)
    info['recommended_indexes'] = 'No secondary index recommendation at this time, primary index may apply.';
  else if (newCovering.length + newPlain.length === 0)
    info['recommended_indexes'] = 'No index recommendation at this time.';
  else {
    const indexes = newObject();
    if (newCovering.length > 0)
      indexes['covering_indexes'] = newCovering.map((entry) => entryValue(entry, false));
    if (newPlain.length > 0) indexes['indexes'] = newPlain.map((entry) => entryValue(entry, true));
    info['recommended_indexes'] = indexes;
  }
  return info;
}

/** One index, for all aliases that it serves. */
interface Entry {
  /** From ` ON ` to the end. */
  readonly text: string;
  readonly name: string;
  readonly property: string | undefined;
  readonly rules: ReadonlyMap<string, string>;
}

function entriesOf(advice: readonly Advice[]): { readonly plain: Entry[]; readonly covering: Entry[] } {
  const [plain, covering] = [new Map<string, Entry>(), new Map<string, Entry>()];
  const add = (entries: Map<string, Entry>, each: Advice, index: AdvisedIndex): void => {
    const added = entryOf(each, index);
    const before = entries.get(added.text);
    if (before?.property === added.property || !before)
      entries.set(
        added.text,
        before ? { ...before, rules: new Map([...before.rules, ...added.rules]) } : added,
      );
  };
  // Covering indexes are listed in the order of the statement.
  for (const each of advice.toSorted((a, b) => Number(b.isDerived) - Number(a.isDerived)))
    if (each.covering) add(covering, each, each.covering);
  for (const each of advice) for (const index of each.plain) add(plain, each, index);
  return { plain: [...plain.values()], covering: [...covering.values()] };
}

function entryOf({ keyspace, alias, isExplicit }: Advice, index: AdvisedIndex): Entry {
  const { flavors, includesMissing, property, rule } = index;
  const [first] = index.keys;
  const keys = index.keys.map((key, at) => {
    const test = at === 0 && key.isMissing ? ' IS MISSING' : '';
    const missing = at === 0 && includesMissing ? ' INCLUDE MISSING' : '';
    return `${key.text}${test}${key.isDescending === true ? ' DESC' : ''}${missing}`;
  });
  const conditions = flavors.map(({ flavor }) => flavor as string);
  if (first?.isMissing) conditions.push(`${first.text} IS MISSING`);
  const where = conditions.length > 0 ? ` WHERE ${conditions.join(' AND ')}` : '';
  const { name } = keyspace;
  const plainName = name.collection === '_default' ? name.bucket : name.collection;
  return {
    text: ` ON ${pathText(keyspace)}(${keys.join(',').replaceAll(/"([^"'\\]*)"/g, "'$1'")})${where}`,
    name: indexName(namesOf(index)),
    property,
    rules: new Map([[isExplicit && alias !== plainName ? `${plainName}_${alias}` : plainName, rule]]),
  };
}

/** The index name: names of the keys that predicates use, then the fields of the condition. */
function namesOf({ keys, flavors }: AdvisedIndex): string[] {
  const name = (key: AdvisedIndex['keys'][number], at: number): string =>
    `${key.name}${at === 0 && key.isMissing ? 'ISMISSING' : ''}${key.isDescending === true ? 'DESC' : ''}`;
  const used = keys.filter((key) => key.isUsed !== false).length;
  const all = keys.map(name);
  return [...all.slice(0, used), ...flavors.map((flavor) => flavor.name), ...all.slice(used)];
}

function entryValue({ name, text, property, rules }: Entry, hasRule: boolean): Value {
  const entry = newObject();
  entry['index_statement'] = `CREATE INDEX ${name}${text}`;
  const [only] = rules;
  if (rules.size === 1 && only) entry['keyspace_alias'] = only[0];
  else entry['keyspace_aliases'] = [...rules.keys()];
  if (property !== undefined) entry['index_property'] = property;
  if (hasRule && property === undefined)
    entry['recommending_rule'] = rules.size === 1 && only ? only[1] : objectOf(rules);
  return entry;
}

function objectOf(rules: ReadonlyMap<string, string>): Value {
  const object = newObject();
  for (const [alias, rule] of rules) object[alias] = rule;
  return object;
}

/** Indexes that the statement uses now. */
function usedDefinitions(current: Prepared, { datastore }: PrepareContext): IndexDefinition[] {
  return current.keyspaces
    .flatMap((keyspace) => datastore.indexes.of(keyspace))
    .map(({ definition }) => definition)
    .filter(({ id }) => current.indexIds.includes(id));
}

function currentIndexes(
  current: Prepared,
  context: PrepareContext,
  plain: readonly Entry[],
  covering: readonly Entry[],
): Value[] {
  const [plainShapes, coveringShapes] = [plain, covering].map((list) => new Set(list.map(shapeOf)));
  return usedDefinitions(current, context).map((definition) => {
    const { name } = definition.keyspace;
    const entry = newObject();
    entry['index_statement'] = createText(definition);
    entry['keyspace_alias'] = name.collection === '_default' ? name.bucket : name.collection;
    const shape = shapeOfDefinition(definition);
    if (coveringShapes?.has(shape)) entry['index_status'] = 'THIS IS AN OPTIMAL COVERING INDEX.';
    else if (plainShapes?.has(shape)) entry['index_status'] = 'SAME AS THE INDEX WE CAN RECOMMEND';
    return entry;
  });
}

/** The same for indexes that differ in their names only. */
function shapeOfDefinition({ keyspace, keys, condition }: IndexDefinition): string {
  const terms = keys.map(({ expression, isDescending, includesMissing }) => [
    expression,
    isDescending,
    includesMissing,
  ]);
  return JSON.stringify([pathText(keyspace), terms, condition ?? '']);
}

function shapeOf({ text }: Entry): string {
  const tree = parseStatement(`CREATE INDEX i${text}`);
  if (tree.kind !== 'create index') return text;
  const terms = tree.keys.map(({ expression, isDescending, includesMissing }) => [
    formatExpression(expression),
    isDescending,
    includesMissing,
  ]);
  return JSON.stringify([
    text.slice(' ON '.length, text.indexOf('(')),
    terms,
    tree.where ? formatExpression(tree.where) : '',
  ]);
}

function pathText({ name }: Pick<Keyspace, 'name'>): string {
  const { bucket, scope, collection } = name;
  const isDefault = scope === '_default' && collection === '_default';
  return isDefault ? `\`${bucket}\`` : `\`default\`:\`${bucket}\`.\`${scope}\`.\`${collection}\``;
}

function createText({ name, keyspace, isPrimary, keys, condition }: IndexDefinition): string {
  const path = pathText(keyspace);
  if (isPrimary) return `CREATE PRIMARY INDEX ${name} ON ${path}`;
  const terms = keys.map(
    ({ expression, isDescending, includesMissing }) =>
      `${expression}${isDescending ? ' DESC' : ''}${includesMissing ? ' INCLUDE MISSING' : ''}`,
  );
  return `CREATE INDEX ${name} ON ${path}(${terms.join(',')})${condition ? ` WHERE ${condition}` : ''}`;
}
