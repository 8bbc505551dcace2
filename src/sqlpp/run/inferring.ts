// INFER: finds flavours (similar schemas) of documents in a sample of a keyspace.

import type { StoredDocument } from '../datastore/documents.ts';
import { sqlError } from '../errors/sql-error.ts';
import { inferOptions, inferred } from '../functions/inferred-schema.ts';
import { Resolver } from '../plan/resolver.ts';
import type { Infer } from '../tree/definition.ts';
import { parseJson } from '../values/json-parse.ts';
import type { Value } from '../values/value.ts';
import { executionOf, plainPrepared } from './definitions.ts';
import type { ExecuteContext, PrepareContext, Prepared } from './engine.ts';

export function inferStatement(tree: Infer, text: string, context: PrepareContext): Prepared {
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
        executionOf(async () => {
          if (!keyspace) throw sqlError(7009, name.collection);
          const documents = await sampleOf(keyspace, options.sampleSize, execution);
          if (documents.length === 0) throw sqlError(7014);
          return [inferred(documents, options)];
        }, execution),
    },
  };
}

/** A random sample from one scan of the keyspace. */
async function sampleOf(
  keyspace: NonNullable<ReturnType<Resolver['keyspace']>['keyspace']>,
  size: number,
  context: ExecuteContext,
): Promise<Value[]> {
  const sample: StoredDocument[] = [];
  let seen = 0;
  for await (const batch of context.datastore.documents.scan(keyspace, { signal: context.signal })) {
    for (const document of batch) {
      if (!document.isJson) continue;
      seen++;
      if (sample.length < size) sample.push(document);
      else {
        const index = Math.floor(context.random() * seen);
        if (index < size) sample[index] = document;
      }
    }
    await context.pause();
  }
  return sample.map((document) => parseJson(document.bytes));
}
