// Key `functions`: the functions that users defined in SQL++. Names and their number are one invariant.

export const functionsKey = 'functions';

export interface StoredFunction {
  name: string;
  /** Absent: of the whole cluster. A scope made anew under the same name has none of its predecessor's. */
  scope?: { bucketUuid: string; scopeUid: string };
  parameters: string[];
  isVariadic: boolean;
  body: string;
}

export interface FunctionsState {
  functions: StoredFunction[];
}

export const noFunctions: FunctionsState = { functions: [] };
