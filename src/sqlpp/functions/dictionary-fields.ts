// Objects whose member names are data, such as ids: INFER shows one field for all members of the same schema.
import { TypeStatistics, ValueSchema } from './value-schema.ts';

/** The name of the one field, as published. */
export const dictionaryName = 'Dictionary(string-to-Object)';

/** The schema of all members, if more than `threshold` members are all objects of the same schema; else undefined. */
export function dictionaryOf(
  { members }: TypeStatistics,
  { dictionaryThreshold, sampleValues }: { dictionaryThreshold: number; sampleValues: number },
): ValueSchema | undefined {
  if (members.size === 0 || members.size <= dictionaryThreshold) return undefined;
  const objects = [...members.values()].map(onlyObject);
  const [first] = objects;
  if (first === undefined || objects.includes(undefined)) return undefined;
  const wanted = signatureOf(first);
  const all = objects as TypeStatistics[];
  return all.every((statistics) => signatureOf(statistics) === wanted)
    ? merged(all, sampleValues)
    : undefined;
}

function onlyObject({ types }: ValueSchema): TypeStatistics | undefined {
  return types.size === 1 ? types.get('object') : undefined;
}

/** Names and types of an object's members, of any depth. */
function signatureOf({ members }: TypeStatistics): string {
  const fields = [...members].map(([name, schema]) => `${JSON.stringify(name)}:${typesOf(schema)}`);
  return `{${fields.sort().join()}}`;
}

function typesOf({ types }: ValueSchema): string {
  const texts = [...types].map(([name, statistics]) => {
    if (name === 'object') return signatureOf(statistics);
    return name === 'array' ? `[${typesOf(statistics.items)}]` : name;
  });
  return texts.sort().join('|');
}

/** The members of all objects are the same, so those of the most frequent one stand for all. */
function merged(objects: readonly TypeStatistics[], samplesMax: number): ValueSchema {
  const most = objects.reduce((a, b) => (b.count > a.count ? b : a));
  const statistics = new TypeStatistics();
  statistics.count = most.count;
  for (const [name, schema] of most.members) statistics.members.set(name, schema);
  for (const { samples } of objects) {
    for (const [text, value] of samples) {
      if (statistics.samples.size >= samplesMax) break;
      statistics.samples.set(text, value);
    }
  }
  const schema = new ValueSchema();
  schema.count = most.count;
  schema.types.set('object', statistics);
  return schema;
}
