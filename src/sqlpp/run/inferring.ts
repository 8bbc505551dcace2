// INFER: finds flavors (similar schemas) of documents in a sample of a keyspace.

import type { Keyspace } from '../datastore/keyspace.ts';
import { sqlError, sqlErrorWith } from '../errors/sql-error.ts';
import { Inference, type InferOptions, inferOptions } from '../functions/inferred-schema.ts';
import { Resolver } from '../plan/resolver.ts';
import type { Infer } from '../tree/definition.ts';
import { parseInSteps } from '../values/json-steps.ts';
import { RawJson, type Value } from '../values/value.ts';
import type { ExecuteContext, PrepareContext, PreparedStatement } from './engine.ts';
import { executionOf, plainPrepared } from './plain-statement.ts';
import { heldMax } from './request-memory.ts';
import { RunSlices } from './run-slices.ts';

export function inferStatement(tree: Infer, text: string, context: PrepareContext): PreparedStatement {
  const resolver = new Resolver(text, context.datastore, context.queryContext);
  const { keyspace, name } = resolver.keyspace(tree.keyspace, 'select');
  const options = inferOptions(tree.with);
  return {
    ...plainPrepared(text, 'INFER', [...resolver.privileges.values()]),
    isReadonly: true,
    signature: 'json',
    keyspaces: keyspace ? [keyspace] : [],
    program: {
      run: (_prepared, execution) =>
        executionOf((context, { warnings }) => {
          if (!keyspace) throw sqlError(7009, name.collection);
          return infer(keyspace, options, context, warnings);
        }, execution),
    },
  };
}

async function infer(
  keyspace: Keyspace,
  options: InferOptions,
  context: ExecuteContext,
  warnings: Error[],
): Promise<Value[]> {
  const { timeoutSeconds, schemaMB } = options;
  const { documents: sample, isInTime } = await sampleOf(keyspace, options, context);
  if (sample.length === 0) throw sqlError(7014);
  if (!isInTime) warnings.push(sqlErrorWith(7012, { cause: { infer_timeout: timeoutSeconds } }));
  const inference = new Inference(options);
  const slices = new RunSlices(context, undefined);
  for (const [at, bytes] of sample.entries()) {
    const raw = new RawJson(bytes, 0, bytes.length);
    const document = await slices.resultOf(parseInSteps(raw));
    await slices.resultOf(inference.addInSteps(document));
    if (inference.isTooLarge && at + 1 < sample.length) {
      warnings.push(sqlErrorWith(7013, { cause: { max_schema_MB: schemaMB } }));
      break;
    }
    const pause = slices.yieldIfDue();
    if (pause !== undefined) await pause;
  }
  return [inference.rows()];
}

interface Sample {
  readonly documents: readonly Uint8Array[];
  /** Whether the scan reached its end before the time limit. */
  readonly isInTime: boolean;
}

/** A uniform random sample of the documents that are offered (reservoir sampling). It copies documents: their bytes are parts of buffers with other documents. */
class Reservoir {
  readonly documents: Uint8Array[] = [];
  readonly #countMax: number;
  readonly #bytesMax: number;
  #bytes = 0;
  #seen = 0;

  constructor(countMax: number, bytesMax: number) {
    this.#countMax = countMax;
    this.#bytesMax = bytesMax;
  }

  /** `chance` is from 0 to below 1. @throws SqlError 5500 above the memory quota */
  offer(document: Uint8Array, chance: () => number): void {
    const { documents } = this;
    this.#seen++;
    const isFull = documents.length >= this.#countMax;
    const at = isFull ? Math.floor(chance() * this.#seen) : documents.length;
    if (at >= this.#countMax) return;
    this.#bytes += document.length - (documents[at]?.length ?? 0);
    if (this.#bytes > this.#bytesMax) throw sqlError(5500);
    // Not slice(): that of a Buffer is a view.
    documents[at] = new Uint8Array(document);
  }
}

/** A random sample from one scan of the keyspace, or of its part that was read in time. */
async function sampleOf(
  keyspace: Keyspace,
  { sampleSize, timeoutSeconds }: InferOptions,
  context: ExecuteContext,
): Promise<Sample> {
  const sample = new Reservoir(sampleSize, context.memoryQuotaBytes || heldMax);
  const { documents } = sample;
  const endMs = context.monotonicMs() + timeoutSeconds * 1000;
  for await (const batch of context.datastore.documents.scan(keyspace, { signal: context.signal })) {
    if (documents.length > 0 && context.monotonicMs() > endMs) return { documents, isInTime: false };
    for (const document of batch) {
      if (document.isJson) sample.offer(document.bytes, context.random);
    }
    await context.pause();
  }
  return { documents, isInTime: true };
}
