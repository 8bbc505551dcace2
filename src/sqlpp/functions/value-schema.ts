// What INFER knows of the values of one field: their types, members, items and samples.
import { jsonText } from '../values/json-text.ts';
import { typeName } from '../values/types.ts';
import type { Value, ValueObject } from '../values/value.ts';

/** Memory of a field or type besides its name, in bytes. */
const nodeBytes = 64;

/** Limits samples, and counts the memory of a whole schema. */
export interface SchemaSize {
  /** The most different values that a type keeps as samples. */
  readonly sampleValues: number;
  bytes: number;
}

/** The types and values of one field. */
export class ValueSchema {
  count = 0;
  readonly types = new Map<string, TypeStatistics>();

  add(value: Value, size: SchemaSize): void {
    this.count++;
    const name = typeName(value);
    let statistics = this.types.get(name);
    if (!statistics) {
      this.types.set(name, (statistics = new TypeStatistics()));
      size.bytes += nodeBytes;
    }
    statistics.add(value, size);
  }
}

export class TypeStatistics {
  count = 0;
  readonly samples = new Map<string, Value>();
  minItems = Number.POSITIVE_INFINITY;
  maxItems = 0;
  readonly members = new Map<string, ValueSchema>();
  readonly items = new ValueSchema();

  add(value: Value, size: SchemaSize): void {
    this.count++;
    if (this.samples.size < size.sampleValues) this.#sample(value, size);
    if (Array.isArray(value)) {
      this.minItems = Math.min(this.minItems, value.length);
      this.maxItems = Math.max(this.maxItems, value.length);
      for (const item of value as Value[]) this.items.add(item, size);
    } else if (typeof value === 'object' && value !== null) {
      for (const [name, member] of Object.entries(value as ValueObject))
        this.#member(name, size).add(member, size);
    }
  }

  #sample(value: Value, size: SchemaSize): void {
    const text = jsonText(value);
    if (this.samples.has(text)) return;
    this.samples.set(text, value);
    size.bytes += text.length;
  }

  #member(name: string, size: SchemaSize): ValueSchema {
    let schema = this.members.get(name);
    if (!schema) {
      this.members.set(name, (schema = new ValueSchema()));
      size.bytes += nodeBytes + name.length;
    }
    return schema;
  }
}
