// ADVISE: indexes that would serve a statement.
import { type Keyspace, keyspaceText } from '../datastore/keyspace.ts';
import { adviceFor } from '../plan/advice.ts';
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
  const recommended = adviceFor(tree.statement, tree.text, context).map(
    ({ keyspace, alias, keys, condition, rule }) => {
      const entry = newObject();
      entry['index_statement'] =
        `CREATE INDEX ${nameOf(keys)} ON ${pathText(keyspace)}(${keys.join(',')})${condition ? ` WHERE ${condition}` : ''}`;
      entry['keyspace_alias'] = alias;
      entry['recommending_rule'] = rule;
      return entry;
    },
  );
  const fresh = recommended.filter((entry) => !current.some((each) => sameKeys(each, entry)));
  if (fresh.length === 0) info['recommended_indexes'] = 'No index recommendation at this time.';
  else {
    const indexes = newObject();
    indexes['indexes'] = fresh;
    info['recommended_indexes'] = indexes;
  }
  return info;
}

function sameKeys(a: Value, b: Value): boolean {
  const keys = (entry: Value): string =>
    String((entry as Record<string, Value>)['index_statement']).replace(/^.*? ON /, '');
  return keys(a) === keys(b);
}

function nameOf(keys: readonly string[]): string {
  return `adv_${keys.map((key) => key.replaceAll(/[^A-Za-z0-9]+/g, '_').replaceAll(/^_|_$/g, '')).join('_')}`.slice(
    0,
    200,
  );
}

export function pathText({ name }: Pick<Keyspace, 'name'>): string {
  return keyspaceText(name)
    .split(/[.:]/)
    .map((part, at) => (at === 0 ? `${part}:` : `\`${part}\``))
    .join('.')
    .replace(':.', ':');
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
