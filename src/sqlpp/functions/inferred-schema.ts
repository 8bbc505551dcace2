// The schema of values, which INFER and INFER_VALUE return: flavors (values with similar members), the types of each member, and samples.
import type { WorkSteps } from '#base/steps.ts';
import { sqlError } from '../errors/sql-error.ts';
import { collate } from '../values/collation.ts';
import { jsonText } from '../values/json-text.ts';
import { newObject, type Value, type ValueObject } from '../values/value.ts';
import { dictionaryName, dictionaryOf } from './dictionary-fields.ts';
import { type SchemaSize, type TypeStatistics, ValueSchema } from './value-schema.ts';

export interface InferOptions {
  /** How many documents are read. */
  readonly sampleSize: number;
  /** The most different values that the schema shows of a type. */
  readonly sampleValues: number;
  /** The least share of common member names, 0 to 1, with which an object belongs to a flavor. */
  readonly similarity: number;
  /** An object is a dictionary if it has more members than this, and all are objects of one schema. */
  readonly dictionaryThreshold: number;
  /** The sample ends after this time. */
  readonly timeoutSeconds: number;
  /** No further document is added to a schema that takes more memory. */
  readonly schemaMB: number;
}

/** Reads the options of WITH, or the second argument of INFER_VALUE. @throws SqlError 7000, 7001 */
export function inferOptions(value: Value): InferOptions {
  const options: Record<string, number> = {
    sample_size: 1000,
    num_sample_values: 5,
    similarity_metric: 0.6,
    dictionary_threshold: 10,
    infer_timeout: 60,
    max_schema_MB: 10,
  };
  if (value !== undefined && (typeof value !== 'object' || value === null || Array.isArray(value)))
    throw sqlError(7000, jsonText(value));
  for (const [name, member] of Object.entries((value ?? {}) as ValueObject)) {
    // On published servers `flags` chooses how documents are found; here there is one way.
    if (name === 'flags') continue;
    if (!Object.hasOwn(options, name)) throw sqlError(7000, name);
    if (typeof member !== 'number') throw sqlError(7001, name);
    options[name] = member;
  }
  return {
    sampleSize: options['sample_size'] as number,
    sampleValues: options['num_sample_values'] as number,
    similarity: options['similarity_metric'] as number,
    dictionaryThreshold: options['dictionary_threshold'] as number,
    timeoutSeconds: options['infer_timeout'] as number,
    schemaMB: options['max_schema_MB'] as number,
  };
}

interface Flavor {
  readonly number: number;
  readonly names: Set<string>;
  readonly schema: ValueSchema;
}

/** Groups values with similar members into flavors. */
export class Inference {
  readonly #options: InferOptions;
  readonly #size: SchemaSize;
  readonly #flavors: Flavor[] = [];
  /** By the name of a member: the flavors with objects that have it. */
  readonly #flavorsByName = new Map<string, Flavor[]>();

  constructor(options: InferOptions) {
    this.#options = options;
    this.#size = { sampleValues: options.sampleValues, bytes: 0 };
  }

  /** Whether the schema exceeds `max_schema_MB`, so that the caller adds no further document. */
  get isTooLarge(): boolean {
    return this.#size.bytes > this.#options.schemaMB * 1e6;
  }

  add(document: Value): void {
    this.#flavorOf(document).add(document, this.#size);
  }

  /** As `add`, for a document that may be large. */
  addInSteps(document: Value): WorkSteps<void> {
    return this.#flavorOf(document).addInSteps(document, this.#size);
  }

  /** The schema of the flavor that a document belongs to. */
  #flavorOf(document: Value): ValueSchema {
    const names =
      typeof document === 'object' && document !== null && !Array.isArray(document)
        ? Object.keys(document)
        : [];
    const flavor = this.#similarFlavor(names) ?? this.#newFlavor();
    for (const name of names) {
      if (flavor.names.has(name)) continue;
      flavor.names.add(name);
      const others = this.#flavorsByName.get(name);
      if (others === undefined) this.#flavorsByName.set(name, [flavor]);
      else others.push(flavor);
    }
    return flavor.schema;
  }

  /** The first flavor that is similar enough. Without a common name only values without members are similar: all of them are in one flavor. */
  #similarFlavor(names: readonly string[]): Flavor | undefined {
    const least = this.#options.similarity;
    if (least <= 0) return this.#flavors[0];
    if (names.length === 0)
      return least <= 1 ? this.#flavors.find((each) => each.names.size === 0) : undefined;
    const shared = new Map<Flavor, number>();
    for (const name of names)
      for (const flavor of this.#flavorsByName.get(name) ?? [])
        shared.set(flavor, (shared.get(flavor) ?? 0) + 1);
    let first: Flavor | undefined;
    for (const [flavor, count] of shared) {
      if (first !== undefined && first.number < flavor.number) continue;
      if (count / Math.min(flavor.names.size, names.length) >= least) first = flavor;
    }
    return first;
  }

  #newFlavor(): Flavor {
    const flavor: Flavor = { number: this.#flavors.length, names: new Set(), schema: new ValueSchema() };
    this.#flavors.push(flavor);
    return flavor;
  }

  /** The flavors, the most frequent first. */
  rows(): Value {
    return this.#flavors
      .sort((a, b) => b.schema.count - a.schema.count)
      .map((flavor) => flavorRow(flavor, this.#options));
  }
}

/** The schema of values in memory. */
export function inferred(values: readonly Value[], options: InferOptions): Value {
  const inference = new Inference(options);
  for (const value of values) {
    inference.add(value);
    if (inference.isTooLarge) break;
  }
  return inference.rows();
}

/** As `inferred`, for many values or large ones. */
export function* inferredInSteps(values: readonly Value[], options: InferOptions): WorkSteps<Value> {
  const inference = new Inference(options);
  for (const value of values) {
    yield* inference.addInSteps(value);
    yield;
    if (inference.isTooLarge) break;
  }
  return inference.rows();
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

/** The members that characterize a flavor: those with one string in all its documents. */
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
  const dictionary = dictionaryOf(object, options);
  if (dictionary) {
    properties[dictionaryName] = fieldRow(dictionary, total, options);
    return properties;
  }
  for (const [name, schema] of object.members) properties[name] = fieldRow(schema, total, options);
  return properties;
}

function fieldRow(schema: ValueSchema, total: number, options: InferOptions): Value {
  const rows = [...schema.types].sort(([a], [b]) => (a < b ? -1 : 1));
  const row = newObject();
  const single = rows.length === 1;
  const valuesByType = <T extends Value>(figureOf: (statistics: TypeStatistics) => T): Value =>
    single
      ? figureOf((rows[0] as [string, TypeStatistics])[1])
      : rows.map(([, statistics]) => figureOf(statistics));
  row['#docs'] = valuesByType((statistics) => statistics.count);
  row['%docs'] = valuesByType((statistics) => Math.round((statistics.count / total) * 10_000) / 100);
  const array = schema.types.get('array');
  if (array) {
    row['minItems'] = array.minItems;
    row['maxItems'] = array.maxItems;
    if (array.items.count > 0) row['items'] = fieldRow(array.items, array.items.count, options);
  }
  const object = schema.types.get('object');
  if (object) row['properties'] = propertiesOf(object, object.count, options);
  row['samples'] = valuesByType((statistics) => [...statistics.samples.values()].sort(collate));
  row['type'] = single ? (rows[0] as [string, TypeStatistics])[0] : rows.map(([name]) => name);
  return row;
}
