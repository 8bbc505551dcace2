// A user-defined SQL++ function as a statement runs it, and the key by which statements find it.
import type { InlineFunction } from '../plan/resolving.ts';
import type { FunctionName } from '../tree/query.ts';
import type { Code } from './code.ts';

export interface FunctionProgram {
  readonly inline: InlineFunction;
  readonly code: Code;
}

/** `f` and `default:f` are two functions where the query context has one of that name. */
export function functionKey({ namespace, parts }: FunctionName): string {
  return namespace !== undefined && parts.length === 1 ? `${namespace}:${parts[0]}` : parts.join('.');
}
