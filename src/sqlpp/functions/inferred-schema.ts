// The schema of values: flavours (values with similar members), the types of each member, and samples. INFER and INFER_VALUE answer it.
import { sqlError } from '../errors/sql-error.ts';
import { collate } from '../values/collation.ts';
import { jsonText } from '../values/json-text.ts';
import { typeName } from '../values/types.ts';
import { newObject, type Value, type ValueObject } from '../values/value.ts';

export interface InferOptions {
  readonly sampleSize: number;
  readonly sampleValues: number;
  readonly similarity: number;
  readonly dictionaryThreshold: number;
}

/** Of WITH, or the second argument of INFER_VALUE. @throws SqlError 7000, 7001 */
export function inferOptions(value: Value): InferOptions {
  const options: Record<string, number> = {
    sample_size: 1000,
    num_sample_values: 5,
    similarity_metric: 0.6,
    dictionary_threshold: 10,
  };
  if (value !== undefined && (typeof value !== 'object' || value === null || Array.isArray(value)))
    throw sqlError(7000, jsonText(value));
  for (const [name, given] of Object.entries((value ?? {}) as ValueObject)) {
    if (['infer_timeout', 'max_schema_MB', 'flags', 'max_nesting_depth', 'array_sample_size'].includes(name))
      continue;
    if (!(name in options)) throw sqlError(7000, name);
    if (typeof given !== 'number') throw sqlError(7001, name);
    options[name] = given;
  }
  return {
    sampleSize: options['sample_size'] as number,
    sampleValues: options['num_sample_values'] as number,
    similarity: options['similarity_metric'] as number,
    dictionaryThreshold: options['dictionary_threshold'] as number,
  };
}

/** The types and values of one field. */
class Schema {
  count = 0;
  readonly types = new Map<string, TypeStatistics>();

  add(value: Value, options: InferOptions): void {
    this.count++;
    const name = typeName(value);
    let statistics = this.types.get(name);
    if (!statistics) this.types.set(name, (statistics = new TypeStatistics()));
    statistics.add(value, options);
  }
}

class TypeStatistics {
  count = 0;
  readonly samples = new Map<string, Value>();
  minItems = Number.POSITIVE_INFINITY;
  maxItems = 0;
  readonly members = new Map<string, Schema>();
  readonly items = new Schema();

  add(value: Value, options: InferOptions): void {
    this.count++;
    if (this.samples.size < options.sampleValues) this.samples.set(jsonText(value), value);
    if (Array.isArray(value)) {
      this.minItems = Math.min(this.minItems, value.length);
      this.maxItems = Math.max(this.maxItems, value.length);
      for (const item of value as Value[]) this.items.add(item, options);
    } else if (typeof value === 'object' && value !== null) {
      for (const [name, member] of Object.entries(value as ValueObject)) {
        let schema = this.members.get(name);
        if (!schema) this.members.set(name, (schema = new Schema()));
        schema.add(member, options);
      }
    }
  }
}

interface Flavor {
  readonly names: Set<string>;
  readonly schema: Schema;
}

/** Groups documents with similar field names into flavours. */
export function inferred(documents: readonly Value[], options: InferOptions): Value {
  const flavors: Flavor[] = [];
  for (const document of documents) {
    const names =
      typeof document === 'object' && document !== null && !Array.isArray(document)
        ? Object.keys(document)
        : [];
    let flavor = flavors.find((each) => similarity(each.names, names) >= options.similarity);
    if (!flavor) flavors.push((flavor = { names: new Set(), schema: new Schema() }));
    for (const name of names) flavor.names.add(name);
    flavor.schema.add(document, options);
  }
  flavors.sort((a, b) => b.schema.count - a.schema.count);
  return flavors.map((flavor) => flavorRow(flavor, options));
}

function similarity(known: ReadonlySet<string>, names: readonly string[]): number {
  if (known.size === 0 && names.length === 0) return 1;
  const shared = names.filter((name) => known.has(name)).length;
  return shared / Math.max(1, Math.min(known.size, names.length));
}

function flavorRow({ schema }: Flavor, options: InferOptions): Value {
  const row = newObject();
  row['#docs'] = schema.count;
  row['$schema'] = 'http://json-schema.org/draft-06/schema';
  const object = schema.types.get('object');
  row['Flavor'] = object ? flavorText(object, schema.count) : '';
  if (object) row['properties'] = propertiesOf(object, schema.count, options);
  row['type'] = object ? 'object' : [...schema.types.keys()].join(', ');
  return row;
}

/** Fields that have the same string in all documents, which characterize a flavour. */
function flavorText(object: TypeStatistics, count: number): string {
  const fixed: string[] = [];
  for (const [name, member] of object.members) {
    const [only] = member.types;
    if (!only || member.types.size > 1 || member.count < count) continue;
    if (only[0] === 'string' && only[1].samples.size === 1)
      fixed.push(`\`${name}\` = ${[...only[1].samples.keys()][0]}`);
  }
  return fixed.join(', ');
}

function propertiesOf(object: TypeStatistics, total: number, options: InferOptions): Value {
  const properties = newObject();
  for (const [name, schema] of object.members) properties[name] = fieldRow(schema, total, options);
  return properties;
}

function fieldRow(schema: Schema, total: number, options: InferOptions): Value {
  const rows = [...schema.types].sort(([a], [b]) => (a < b ? -1 : 1));
  const row = newObject();
  const single = rows.length === 1;
  const value = <T extends Value>(of: (statistics: TypeStatistics) => T): Value =>
    single ? of((rows[0] as [string, TypeStatistics])[1]) : rows.map(([, statistics]) => of(statistics));
  row['#docs'] = value((statistics) => statistics.count);
  row['%docs'] = value((statistics) => Math.round((statistics.count / total) * 10_000) / 100);
  const array = schema.types.get('array');
  if (array) {
    row['minItems'] = array.minItems;
    row['maxItems'] = array.maxItems;
    if (array.items.count > 0) row['items'] = fieldRow(array.items, array.items.count, options);
  }
  const object = schema.types.get('object');
  if (object) row['properties'] = propertiesOf(object, object.count, options);
  row['samples'] = value((statistics) => [...statistics.samples.values()].sort(collate));
  row['type'] = single ? (rows[0] as [string, TypeStatistics])[0] : rows.map(([name]) => name);
  return row;
}
