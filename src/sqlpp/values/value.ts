// The values of the language and their JavaScript representation. MISSING is `undefined`. Integers that a double cannot hold exactly are
// bigints (within 64 bits, signed); every other number is a number. Objects have no prototype: create them with `newObject`
// and write with `setMember`, which are safe for every member name (`__proto__` too).

export type Value =
  | undefined
  | null
  | boolean
  | number
  | bigint
  | string
  | Binary
  | RawJson
  | readonly Value[]
  | ValueObject;

export interface ValueObject {
  readonly [name: string]: Value;
}

/** A document that is not JSON. It is compared by its bytes and formatted as `<binary (3 b)>`, here for three bytes. */
export class Binary {
  readonly bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }
}

/**
 * Unparsed JSON text: `bytes[start, end)` is one value without surrounding space. Only navigation and
 * projection accept it; everything else calls `resolve` first.
 */
export class RawJson {
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly end: number;

  constructor(bytes: Uint8Array, start: number, end: number) {
    this.bytes = bytes;
    this.start = start;
    this.end = end;
  }
}

/** A row of the answer as JSON text: the last projection of a statement makes it, and only what writes the answer reads it. */
export class AnswerText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** A long row of the answer in pieces: JSON text, and values that become text only when the answer is written. */
export class AnswerPieces {
  readonly pieces: readonly Value[];

  constructor(pieces: readonly Value[]) {
    this.pieces = pieces;
  }
}

/** Creates objects without inherited members, so that every name is safe; V8 stores them as compactly as other objects. */
const EmptyObject = function EmptyObject() {} as unknown as new () => Record<string, Value>;
EmptyObject.prototype = Object.create(null);

export function newObject(): Record<string, Value> {
  return new EmptyObject();
}

/** Sets a member; a MISSING value removes it. */
export function setMember(object: Record<string, Value>, name: string, value: Value): void {
  if (value === undefined) delete object[name];
  else object[name] = value;
}
