// Messages between the query thread and a thread for functions in JavaScript: plain data.

/** Bounds of one call. */
export const javaScriptLimits = {
  /** Memory of the code and all its values. */
  memoryBytes: 64 << 20,
  stackBytes: 256 << 10,
  /** JSON text of all arguments, and of the result; in characters. */
  argumentsLength: 4 << 20,
  resultLength: 4 << 20,
  /** A request may have a shorter limit of its own. */
  callMs: 120_000,
} as const;

export interface LibraryCode {
  /** The name of the file in stack traces. */
  readonly file: string;
  readonly code: string;
}

export type JavaScriptJob =
  /** Reports syntax errors. */
  | { readonly kind: 'check'; readonly library: LibraryCode }
  | {
      readonly kind: 'call';
      /** Null: the library of the last call in this thread, whose global variables are kept. */
      readonly library: LibraryCode | null;
      /** The function's name in its library. */
      readonly name: string;
      /** A JSON array. */
      readonly arguments: string;
      /** Positions of arguments that are `undefined` instead of their JSON value. */
      readonly undefinedAt: readonly number[];
    };

/** The field `type` of the error that clients get. */
export type RefusalType = 'Library or function missing' | 'Limit exceeded' | 'Not supported';

export type JavaScriptReply =
  /** JSON of an object with the member `value`; without it the function returned `undefined`. */
  | { readonly kind: 'returned'; readonly text: string }
  /** `exception`: the JSON text of what was thrown. */
  | { readonly kind: 'thrown'; readonly exception: string; readonly stack: string | null }
  | { readonly kind: 'checked' }
  | { readonly kind: 'refused'; readonly reason: string; readonly type: RefusalType }
  | { readonly kind: 'interrupted' }
  /** The engine may be damaged: the thread must end. */
  | { readonly kind: 'broken'; readonly reason: string };

/** Sent once, before the first job. */
export interface JavaScriptStart {
  readonly kind: 'start';
  /** One 32-bit integer in shared memory, which the query thread sets above 0 to interrupt the running job. */
  readonly interrupt: SharedArrayBuffer;
}
