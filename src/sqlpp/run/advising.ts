// ADVISE: recommends indexes for a statement.
import { adviceFor } from '../advice/advice.ts';
import {
  type AdviceEntry,
  createText,
  entriesOf,
  entryValue,
  shapeOf,
  shapeOfDefinition,
} from '../advice/advice-entries.ts';
import type { Advice } from '../advice/advised-index.ts';
import type { IndexDefinition } from '../datastore/indexes.ts';
import type { Keyspace } from '../datastore/keyspace.ts';
import type { Advise } from '../tree/statement.ts';
import { memberOf, nameBytes } from '../values/json-scan.ts';
import { isLargeText } from '../values/parsed-texts.ts';
import { renewSteps } from '../values/step-limit.ts';
import { newObject, RawJson, type Value } from '../values/value.ts';
import type { ExecuteContext, PrepareContext, PreparedStatement } from './engine.ts';

/** `current`: the statement with the indexes that it uses now. */
export async function adviseRow(
  tree: Advise,
  current: PreparedStatement,
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

/**
 * A context in which missing keyspaces exist without indexes, and every keyspace may be scanned, so that the statement has a plan. A missing
 * keyspace has an empty `bucketUuid`.
 */
export function adviseContext(context: PrepareContext): PrepareContext {
  const { catalog, documents, indexes } = context.datastore;
  const find: PrepareContext['datastore']['find'] = (name) => {
    const found = context.datastore.find(name);
    return typeof found === 'string' ? { name, bucketUuid: '', scopeId: 0, collectionId: 0 } : found;
  };
  const indexesOf: typeof indexes.indexesOf = (keyspace) =>
    keyspace.bucketUuid === '' ? [] : indexes.indexesOf(keyspace);
  const indexesOfExisting: typeof indexes = {
    indexesOf,
    scan: (scan) => indexes.scan(scan),
    figures: (index) => indexes.figures(index),
  };
  return {
    ...context,
    sequentialScans: true,
    datastore: { ...context.datastore, catalog, documents, find, indexes: indexesOfExisting },
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
  /** Fields with one text in all documents of the sample, by collection, bucket and name. */
  const kindFields = new Set<string>();
  for (const [keyspace, fields] of candidates) {
    for (const field of await constantFields(keyspace, fields, execution))
      kindFields.add(`${keyspace.collectionId} ${keyspace.bucketUuid} ${field}`);
  }
  return advise(
    ({ collectionId, bucketUuid }, field) =>
      kindFieldName.test(field) || kindFields.has(`${collectionId} ${bucketUuid} ${field}`),
  );
}

/** Names that usually hold the kind of a document. */
const kindFieldName = /^_?(doc|document)?_?(type|kind)_?$/i;

/** How many documents show whether a field has the same text in all. */
const sampleMax = 100;

/** Fields that have the same text in every document of a small sample. */
async function constantFields(
  keyspace: Keyspace,
  fields: ReadonlySet<string>,
  { datastore, signal, pause }: ExecuteContext,
): Promise<string[]> {
  if (keyspace.bucketUuid === '') return [];
  const texts = new Map<string, Value>();
  const constant = new Set(fields);
  let documents = 0;
  for await (const batch of datastore.documents.scan(keyspace, { signal })) {
    for (const { isJson, bytes } of batch) {
      if (!isJson) continue;
      documents++;
      renewSteps();
      const body = new RawJson(bytes, 0, bytes.length);
      if (isLargeText(body)) await pause();
      for (const field of constant) {
        const value = memberOf(body, nameBytes(field));
        if (typeof value !== 'string' || (texts.get(field) ?? value) !== value) constant.delete(field);
        else texts.set(field, value);
      }
    }
    if (documents >= sampleMax || constant.size === 0) break;
  }
  // In one document every field has the same text.
  return documents > 1 ? [...constant] : [];
}

function adviceInfo(current: PreparedStatement, context: PrepareContext, advice: readonly Advice[]): Value {
  const info = newObject();
  const { plain, covering } = entriesOf(advice);
  const used = currentIndexes(current, context, plain, covering);
  if (used.length > 0) info['current_indexes'] = used;
  const usedShapes = new Set(usedDefinitions(current, context).map(shapeOfDefinition));
  const isCurrent = (entry: AdviceEntry): boolean => usedShapes.has(shapeOf(entry));
  const isCovered = covering.length > 0 && covering.every(isCurrent);
  const [newCovering, newPlain] = [covering, isCovered ? [] : plain].map((list) =>
    list.filter((entry) => !isCurrent(entry)),
  ) as [AdviceEntry[], AdviceEntry[]];
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

/** Indexes that the statement uses now. */
function usedDefinitions(current: PreparedStatement, { datastore }: PrepareContext): IndexDefinition[] {
  return current.keyspaces
    .flatMap((keyspace) => datastore.indexes.indexesOf(keyspace))
    .map(({ definition }) => definition)
    .filter(({ id }) => current.indexIds.includes(id));
}

function currentIndexes(
  current: PreparedStatement,
  context: PrepareContext,
  plain: readonly AdviceEntry[],
  covering: readonly AdviceEntry[],
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
