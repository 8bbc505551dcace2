// The values of a statement's parameters: those of EXECUTE … USING, or those of the request.
import { sqlError } from '#sqlpp/errors/sql-error.ts';
import type { ExecuteContext } from '#sqlpp/run/engine.ts';
import { Binary, RawJson, type Value, type ValueObject } from '#sqlpp/values/value.ts';
import type { QueryRequest } from '../request/query-request.ts';

export function parametersOf(
  { positional, named }: QueryRequest,
  using: Value,
): Pick<ExecuteContext, 'positional' | 'named'> {
  if (using === undefined || using === null) return { positional, named };
  if (positional.length > 0 || named.size > 0)
    throw sqlError(5003, 'cannot have both USING clause and request parameters');
  if (Array.isArray(using)) return { positional: using as readonly Value[], named };
  const isObject = typeof using === 'object' && !(using instanceof Binary) && !(using instanceof RawJson);
  if (!isObject) throw sqlError(5003, 'USING takes an array of values or an object of named ones');
  return { positional, named: new Map(Object.entries(using as ValueObject)) };
}
