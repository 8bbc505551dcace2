// ADVISE: indexes that would serve a statement.
import type { Keyspace } from '../datastore/keyspace.ts';
import { type Advice, adviceFor } from '../plan/advice.ts';
import type { Advise } from '../tree/statement.ts';
import { newObject, type Value } from '../values/value.ts';
import type { PrepareContext, Prepared } from './engine.ts';

export function adviseRow(tree: Advise, inner: Prepared, context: PrepareContext): Value {
  const row = newObject();
  row['#operator'] = 'Advise';
  const advice = newObject();
  advice['#operator'] = 'IndexAdvice';
  advice['adviseinfo'] = adviceInfo(tree, inner, context);
  row['advice'] = advice;
  row['query'] = tree.text;
  return row;
}

function adviceInfo(tree: Advise, inner: Prepared, context: PrepareContext): Value {
  const info = newObject();
  const current: Value[] = [];
  for (const keyspace of inner.keyspaces) {
    for (const { definition } of context.datastore.indexes.of(keyspace)) {
      if (!inner.indexIds.includes(definition.id)) continue;
      const entry = newObject();
      entry['index_statement'] = createText(keyspace, definition);
      entry['keyspace_alias'] =
        keyspace.name.collection === '_default' ? keyspace.name.bucket : keyspace.name.collection;
      current.push(entry);
    }
  }
  if (current.length > 0) info['current_indexes'] = current;
  const advice = adviceFor(tree.statement, tree.text, context).filter(
    (each) => !current.some((known) => statementOf(known).includes(keysText(each, each.keys))),
  );
  const covering = advice.filter((each) => each.coveringKeys).map(coveringEntry);
  const plain = advice
    .filter((each) => !each.property || each.coveringKeys)
    .map((each) => entryOf(each, each.keys, { recommending_rule: each.rule }));
  const pushed = advice
    .filter((each) => each.property && !each.coveringKeys)
    .map((each) => entryOf(each, each.keys, { index_property: each.property as string }));
  if (advice.length === 0) info['recommended_indexes'] = 'No index recommendation at this time.';
  else {
    const indexes = newObject();
    if (covering.length > 0) indexes['covering_indexes'] = covering;
    indexes['indexes'] = [...pushed, ...plain];
    info['recommended_indexes'] = indexes;
  }
  return info;
}

function statementOf(entry: Value): string {
  return String((entry as Record<string, Value>)['index_statement']);
}

function coveringEntry(advice: Advice): Value {
  return entryOf(
    advice,
    advice.coveringKeys ?? advice.keys,
    advice.property ? { index_property: advice.property } : {},
  );
}

function keysText({ keyspace, flavors }: Advice, keys: readonly string[]): string {
  const condition = flavors.map(({ text }) => text).join(' AND ');
  return ` ON ${pathText(keyspace)}(${keys.join(',')})${condition ? ` WHERE ${condition}` : ''}`;
}

function entryOf(advice: Advice, keys: readonly string[], more: Readonly<Record<string, string>>): Value {
  const { flavors, keyspace, alias, isExplicit } = advice;
  const [plain, rest] = [keys.slice(0, advice.keys.length), keys.slice(advice.keys.length)];
  const names = [...plain, ...flavors.map(({ key }) => key), ...rest];
  const entry = newObject();
  entry['index_statement'] = `CREATE INDEX ${nameOf(names)}${keysText(advice, keys)}`;
  const { name } = keyspace;
  const plainName = name.collection === '_default' ? name.bucket : name.collection;
  entry['keyspace_alias'] = isExplicit && alias !== plainName ? `${plainName}_${alias}` : plainName;
  for (const [member, value] of Object.entries(more)) entry[member] = value;
  return entry;
}

function nameOf(keys: readonly string[]): string {
  return `adv_${keys.map((key) => key.replaceAll(/[^A-Za-z0-9_]+/g, '_').replaceAll(/^_|_$/g, '')).join('_')}`.slice(
    0,
    200,
  );
}

function pathText({ name }: Pick<Keyspace, 'name'>): string {
  const { bucket, scope, collection } = name;
  const isDefault = scope === '_default' && collection === '_default';
  return isDefault ? `\`${bucket}\`` : `\`default\`:\`${bucket}\`.\`${scope}\`.\`${collection}\``;
}

function createText(
  keyspace: Keyspace,
  definition: {
    name: string;
    isPrimary: boolean;
    keys: readonly { expression: string; isDescending: boolean }[];
    condition?: string;
  },
): string {
  const keys = definition.keys.map((key) => `${key.expression}${key.isDescending ? ' DESC' : ''}`).join(',');
  if (definition.isPrimary) return `CREATE PRIMARY INDEX ${definition.name} ON ${pathText(keyspace)}`;
  return `CREATE INDEX ${definition.name} ON ${pathText(keyspace)}(${keys})${definition.condition ? ` WHERE ${definition.condition}` : ''}`;
}
