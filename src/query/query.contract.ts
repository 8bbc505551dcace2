// The interface of query service and cluster manager for user-defined functions, in plain data. The manager stores
// the definitions; the query thread gets all of them whenever one changes.

/** A bucket's scope by names; null for a global function. */
export type FunctionScope = { readonly bucket: string; readonly scope: string } | null;

export interface FunctionDefinition {
  readonly scope: FunctionScope;
  readonly name: string;
  readonly parameters: readonly string[];
  /** The function takes any number of arguments, as the array `args`. */
  readonly isVariadic: boolean;
  /** A SQL++ expression. */
  readonly body: string;
}

export type FunctionChange =
  | { readonly kind: 'create'; readonly definition: FunctionDefinition; readonly replaces: boolean }
  | { readonly kind: 'drop'; readonly scope: FunctionScope; readonly name: string };

export type FunctionOutcome = 'done' | 'exists' | 'not found' | { readonly refused: string };

export interface FunctionDefinitions {
  /** Resolves when the change is stored. */
  change(change: FunctionChange): Promise<FunctionOutcome>;
  all(): readonly FunctionDefinition[];
}
