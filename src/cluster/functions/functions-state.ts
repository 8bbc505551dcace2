// Key `functions`: the functions that users defined by statements. All are in one key, so that a compare-and-set keeps their names unique and
// their number within the limit.

export const functionsKey = 'functions';

export interface StoredFunction {
  name: string;
  /** Absent: the function is global. Ids instead of names, so that a scope created again under its name has no functions of the old one. */
  scope?: { bucketUuid: string; scopeUid: string };
  parameters: string[];
  isVariadic: boolean;
  body: string;
  /** Library of a function in JavaScript. */
  library?: string;
}

export interface FunctionsState {
  functions: StoredFunction[];
}

export const noFunctions: FunctionsState = { functions: [] };
