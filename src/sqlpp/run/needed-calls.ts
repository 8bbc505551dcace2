// Calls of asynchronous functions: those in other languages, CURL and ADVISOR.
import { sqlError } from '../errors/sql-error.ts';
import type { ExternalFunction } from '../plan/resolving.ts';
import { resolveDeep } from '../values/json-parse.ts';
import type { Value } from '../values/value.ts';
import { CallNeeded } from './call-results.ts';
import type { ExecuteContext } from './engine.ts';
import { valueKey } from './keys.ts';

export function externalCall(
  external: ExternalFunction,
  values: readonly Value[],
  { userFunctions }: ExecuteContext,
): CallNeeded {
  const { name, scope } = external;
  const key = JSON.stringify([name, scope?.bucket, scope?.scope, valueKey(values)]);
  const result = async () => {
    if (!userFunctions?.call) throw sqlError(10101, name);
    return await userFunctions.call(external, values);
  };
  return new CallNeeded(key, result, { isForRow: true });
}

type Curl = NonNullable<ExecuteContext['curl']>;

export function curlCall(values: readonly Value[], curl: Curl, memory: Parameters<Curl>[1]): CallNeeded {
  const result = () => curl(values.map(resolveDeep), memory);
  return new CallNeeded(`curl ${valueKey(values)}`, result, { isForRow: true });
}

export function advisorCall(
  values: readonly Value[],
  advisor: NonNullable<ExecuteContext['advisor']>,
): CallNeeded {
  return new CallNeeded(valueKey(values), () => advisor(values[0]), { isForRow: false });
}
