// The declaration of a function: the parser checks names and argument counts, expressions call it, the reference page lists it.
import type { WorkSteps } from '#base/steps.ts';
import type { Value } from '../values/value.ts';
import type { EvaluationContext } from './context.ts';

/**
 * How MISSING and NULL arguments are handled before the call. `propagate`: a MISSING argument gives MISSING, else a NULL one NULL. `onlyMissing`:
 * a MISSING argument gives MISSING, and the function handles NULL. `own`: the function handles both.
 */
export type NullRule = 'propagate' | 'onlyMissing' | 'own';

/** State that a call keeps between rows, such as a compiled pattern. */
export interface Memo {
  key?: unknown;
  value?: unknown;
}

export type StepsOf = (values: readonly Value[]) => WorkSteps<Value> | null;

export type Implementation = (values: readonly Value[], context: EvaluationContext, memo: Memo) => Value;

/**
 * When calls with the same arguments may return different results. `between requests`: such a call cannot be indexed.
 * `between calls`: in addition the call is evaluated for each row, and plans do not duplicate it.
 */
export type Variation = 'never' | 'between requests' | 'between calls';

export interface FunctionDeclaration {
  /** The name in lower case. */
  readonly name: string;
  readonly synonyms: readonly string[];
  readonly group: FunctionGroup;
  readonly minimum: number;
  readonly maximum: number;
  readonly nulls: NullRule;
  readonly varies: Variation;
  /** The evaluation context implements the function. */
  readonly isSpecial: boolean;
  /** What the function reads of an array or an object. Unless `all`, the function gets an empty array or object instead, or an array of the same length. */
  readonly reads: 'all' | 'length' | 'type';
  /** Arguments, as the reference page shows them: `array, value [, value …]`. */
  readonly signature: string;
  /** One sentence. */
  readonly doc: string;
  readonly run: Implementation;
  /** Computes what `run` does, in steps; null: the arguments are small, so that `run` takes less time. */
  readonly steps?: StepsOf | undefined;
}

export type FunctionGroup =
  | 'array'
  | 'bit'
  | 'comparison'
  | 'conditional'
  | 'date'
  | 'json'
  | 'meta'
  | 'number'
  | 'object'
  | 'operator'
  | 'pattern'
  | 'string'
  | 'token'
  | 'type';

/** The maximum of functions that take any number of arguments, as published. */
const manyArguments = 32_767;

interface Options {
  readonly synonyms?: readonly string[];
  readonly nulls?: NullRule;
  readonly varies?: Variation;
  readonly isSpecial?: boolean;
  readonly reads?: FunctionDeclaration['reads'];
  readonly steps?: StepsOf;
}

/** Declares functions of one group. The numbers of arguments follow from the signature: `a, b [, c]`, `a, b [, c …]`. */
export class Declarations {
  readonly list: FunctionDeclaration[] = [];
  private readonly group: FunctionGroup;

  constructor(group: FunctionGroup) {
    this.group = group;
  }

  add(name: string, signature: string, doc: string, run: Implementation, options: Options = {}): this {
    this.list.push({
      name,
      synonyms: options.synonyms ?? [],
      group: this.group,
      ...countsOf(signature),
      nulls: options.nulls ?? 'propagate',
      varies: options.varies ?? 'never',
      isSpecial: options.isSpecial ?? false,
      reads: options.reads ?? 'all',
      signature,
      doc,
      run,
      steps: options.steps,
    });
    return this;
  }
}

function countsOf(signature: string): { minimum: number; maximum: number } {
  const count = (text: string): number => text.split(',').filter((part) => /[a-z]/.test(part)).length;
  const optional = signature.match(/\[[^\]]*\]/g) ?? [];
  const minimum = count(signature.replaceAll(/\[[^\]]*\]/g, ''));
  const hasMore = optional.some((part) => part.includes('…'));
  return {
    minimum,
    maximum: hasMore ? manyArguments : minimum + optional.reduce((sum, part) => sum + count(part), 0),
  };
}
