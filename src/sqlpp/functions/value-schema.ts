// What INFER knows of the values of one field: their types, members, items and samples.
import type { WorkSteps } from '#base/steps.ts';
import { jsonText } from '../values/json-text.ts';
import { countSteps, writtenSteps } from '../values/step-limit.ts';
import { isLargeValue, textParts } from '../values/text-steps.ts';
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
    this.#counted(value, size).add(value, size);
  }

  /** As `add`, for a value that may take long. */
  *addInSteps(value: Value, size: SchemaSize): WorkSteps<void> {
    if (isLargeValue(value)) yield* this.#counted(value, size).addInSteps(value, size);
    else this.add(value, size);
  }

  /** Counts a value; returns the statistics of its type. */
  #counted(value: Value, size: SchemaSize): TypeStatistics {
    countSteps(writtenSteps);
    this.count++;
    const name = typeName(value);
    let statistics = this.types.get(name);
    if (!statistics) {
      this.types.set(name, (statistics = new TypeStatistics()));
      size.bytes += nodeBytes;
    }
    return statistics;
  }
}

/** Items or members that are added in one step, unless they are large. */
const addedAtOnce = 256;

export class TypeStatistics {
  count = 0;
  readonly samples = new Map<string, Value>();
  minItems = Number.POSITIVE_INFINITY;
  maxItems = 0;
  readonly members = new Map<string, ValueSchema>();
  readonly items = new ValueSchema();

  add(value: Value, size: SchemaSize): void {
    this.count++;
    if (this.samples.size < size.sampleValues) this.#sample(value, jsonText(value), size);
    if (Array.isArray(value)) {
      this.#countItems(value.length);
      for (const item of value as Value[]) this.items.add(item, size);
    } else if (typeof value === 'object' && value !== null) {
      for (const [name, member] of Object.entries(value as ValueObject))
        this.#member(name, size).add(member, size);
    }
  }

  *addInSteps(value: Value, size: SchemaSize): WorkSteps<void> {
    this.count++;
    if (this.samples.size < size.sampleValues) {
      let text = '';
      for (const part of textParts(value)) {
        text += part;
        yield;
      }
      this.#sample(value, text, size);
    }
    let added = 0;
    if (Array.isArray(value)) {
      this.#countItems(value.length);
      for (const item of value as Value[]) {
        yield* this.items.addInSteps(item, size);
        if (++added % addedAtOnce === 0) yield;
      }
    } else if (typeof value === 'object' && value !== null) {
      for (const [name, member] of Object.entries(value as ValueObject)) {
        yield* this.#member(name, size).addInSteps(member, size);
        if (++added % addedAtOnce === 0) yield;
      }
    }
  }

  #countItems(count: number): void {
    this.minItems = Math.min(this.minItems, count);
    this.maxItems = Math.max(this.maxItems, count);
  }

  #sample(value: Value, text: string, size: SchemaSize): void {
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
