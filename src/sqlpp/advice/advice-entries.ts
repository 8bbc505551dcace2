// The indexes that ADVISE recommends, as its result lists them: one entry for all aliases that the same index would serve.
import type { IndexDefinition } from '../datastore/indexes.ts';
import type { Keyspace } from '../datastore/keyspace.ts';
import { formatExpression } from '../text/format.ts';
import { parseStatement } from '../text/parser.ts';
import { newObject, type Value } from '../values/value.ts';
import { indexName } from './advice-text.ts';
import type { Advice, AdvisedIndex } from './advised-index.ts';

/** A recommended index, for all aliases that it would serve. */
export interface AdviceEntry {
  /** CREATE INDEX without its beginning: from ` ON ` to the end. */
  readonly text: string;
  readonly name: string;
  /** As in `AdvisedIndex`. */
  readonly property: string | undefined;
  /** By alias: why the keys have this order. */
  readonly rules: ReadonlyMap<string, string>;
}

/** The entries of each kind, in the order in which ADVISE lists them. */
export function entriesOf(advice: readonly Advice[]): {
  readonly plain: AdviceEntry[];
  readonly covering: AdviceEntry[];
} {
  const [plain, covering] = [new Map<string, AdviceEntry>(), new Map<string, AdviceEntry>()];
  const add = (entries: Map<string, AdviceEntry>, each: Advice, index: AdvisedIndex): void => {
    const added = entryOf(each, index);
    const before = entries.get(added.text);
    if (!before) entries.set(added.text, added);
    else if (before.property === added.property)
      entries.set(added.text, { ...before, rules: new Map([...before.rules, ...added.rules]) });
  };
  // Covering indexes are listed in the order of FROM: keyspaces with advice for a join are on its left side.
  for (const each of advice.toSorted((a, b) => Number(b.isDerived) - Number(a.isDerived)))
    if (each.covering) add(covering, each, each.covering);
  for (const each of advice) for (const index of each.plain) add(plain, each, index);
  return { plain: [...plain.values()], covering: [...covering.values()] };
}

function entryOf({ keyspace, alias, isExplicit }: Advice, index: AdvisedIndex): AdviceEntry {
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

/** The parts of the index's name: the keys that predicates use, the fields of the condition, then the other keys. */
function namesOf({ keys, flavors }: AdvisedIndex): string[] {
  const name = (key: AdvisedIndex['keys'][number], at: number): string =>
    `${key.name}${at === 0 && key.isMissing ? 'ISMISSING' : ''}${key.isDescending === true ? 'DESC' : ''}`;
  const used = keys.filter((key) => key.isUsed !== false).length;
  const all = keys.map(name);
  return [...all.slice(0, used), ...flavors.map((flavor) => flavor.name), ...all.slice(used)];
}

/** The entry as ADVISE returns it. `showsRules`: with the reasons for the order of keys, unless it has a property. */
export function entryValue({ name, text, property, rules }: AdviceEntry, showsRules: boolean): Value {
  const entry = newObject();
  entry['index_statement'] = `CREATE INDEX ${name}${text}`;
  const [only] = rules;
  if (rules.size === 1 && only) entry['keyspace_alias'] = only[0];
  else entry['keyspace_aliases'] = [...rules.keys()];
  if (property !== undefined) entry['index_property'] = property;
  if (showsRules && property === undefined)
    entry['recommending_rule'] = rules.size === 1 && only ? only[1] : objectOf(rules);
  return entry;
}

function objectOf(rules: ReadonlyMap<string, string>): Value {
  const object = newObject();
  for (const [alias, rule] of rules) object[alias] = rule;
  return object;
}

/** A text that two indexes share, existing or advised, if they differ only in their names. */
export function shapeOfDefinition({ keyspace, keys, condition }: IndexDefinition): string {
  const terms = keys.map(({ expression, isDescending, includesMissing }) => [
    expression,
    isDescending,
    includesMissing,
  ]);
  return JSON.stringify([pathText(keyspace), terms, condition ?? '']);
}

/** As `shapeOfDefinition`. */
export function shapeOf({ text }: AdviceEntry): string {
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

/** The statement that creates the index. */
export function createText({ name, keyspace, isPrimary, keys, condition }: IndexDefinition): string {
  const path = pathText(keyspace);
  if (isPrimary) return `CREATE PRIMARY INDEX ${name} ON ${path}`;
  const terms = keys.map(
    ({ expression, isDescending, includesMissing }) =>
      `${expression}${isDescending ? ' DESC' : ''}${includesMissing ? ' INCLUDE MISSING' : ''}`,
  );
  return `CREATE INDEX ${name} ON ${path}(${terms.join(',')})${condition ? ` WHERE ${condition}` : ''}`;
}
