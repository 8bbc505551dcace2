// Functions that need the row, the service or the request. Name resolution and the engine implement them.
import type { WorkSteps } from '#base/steps.ts';
import { isLargeValue } from '../values/text-steps.ts';
import type { Value } from '../values/value.ts';
import { Declarations, type Implementation } from './declaration.ts';
import { inferOptions, inferred, inferredInSteps } from './inferred-schema.ts';

/** Never called: functions with `isSpecial` are called in the evaluation context. */
const elsewhere: Implementation = () => null;

const special = { nulls: 'own', isSpecial: true } as const;
const perCall = { ...special, varies: 'between calls' } as const;
const perRequest = { ...special, varies: 'between requests' } as const;

/** An array is a sample of values; everything else is one value. */
const sampleOf = (value: Value): readonly Value[] =>
  Array.isArray(value) ? (value as readonly Value[]) : [value];

const inferValue: Implementation = ([value, options]) => inferred(sampleOf(value), inferOptions(options));

/** Values that are added without pauses. */
const addedAtOnce = 64;

function inferSteps([value, options]: readonly Value[]): WorkSteps<Value> | null {
  const sample = sampleOf(value);
  const isSmall = sample.length <= addedAtOnce && !sample.some(isLargeValue);
  return isSmall ? null : inferredInSteps(sample, inferOptions(options));
}

export const specials = new Declarations('meta')
  .add(
    'meta',
    '[alias]',
    'Metadata of a document: id, cas, expiration, flags, type, xattrs.',
    elsewhere,
    special,
  )
  .add('unnest_position', 'alias', 'The position of an unnested item.', elsewhere, {
    ...special,
    synonyms: ['unnest_pos'],
  })
  .add('self', '', 'The whole row.', elsewhere, special)
  .add('version', '', 'The version of the language.', elsewhere, special)
  .add(
    'min_version',
    '',
    'The lowest version of the language that nodes of the cluster know.',
    elsewhere,
    special,
  )
  .add('ds_version', '', 'The version of the server.', elsewhere, special)
  .add('node_name', '', 'The name of the node that runs the statement.', elsewhere, perRequest)
  .add('current_users', '', 'The users of the request.', elsewhere, perRequest)
  .add('uuid', '', 'A new random UUID.', (_, context) => context.uuid(), {
    nulls: 'own',
    varies: 'between calls',
  })
  .add(
    'advisor',
    'statements',
    'The indexes that a statement, or an array of statements, uses and needs, as ADVISE answers for one. An object with `action` (`start`, `list`, `stop`, `get`, `purge`) is about a session, which collects the statements of a period.',
    elsewhere,
    perCall,
  )
  .add('infer_value', 'value [, options]', 'The schema of a value, as INFER answers it.', inferValue, {
    nulls: 'onlyMissing',
    steps: inferSteps,
    synonyms: ['infervalue', 'infer'],
  })
  .add('curl', 'url [, options]', 'The answer of a server that the allowlist permits.', elsewhere, perCall)
  .add('search', 'keyspace, query [, options]', 'Refused: a node has no search service.', elsewhere, perCall)
  .add('search_meta', '[alias]', 'Refused: a node has no search service.', elsewhere, perCall)
  .add('search_score', '[alias]', 'Refused: a node has no search service.', elsewhere, perCall);
