// What the query service and the cluster manager say to each other about functions that users define: plain data. The manager keeps
// the definitions; the service's threads get all of them whenever one changes.

/** A bucket's scope by names; null: the whole cluster. */
export type FunctionScope = { readonly bucket: string; readonly scope: string } | null;

export interface FunctionDefinition {
  readonly scope: FunctionScope;
  readonly name: string;
  readonly parameters: readonly string[];
  /** Any number of arguments, as the array `args`. */
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
