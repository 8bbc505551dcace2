// The values of the language, and how JavaScript holds them. MISSING is `undefined`. Integers that a double cannot hold exactly are
// bigints (within 64 bits, signed); every other number is a number. An object keeps its own members only: make one with `newObject`
// and write with `setMember`, which are safe for every name a document can have (`__proto__` too).

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

/** A document that is not JSON. It equals itself byte for byte and answers as base64 text. */
export class Binary {
  readonly bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }
}

/**
 * JSON text that nobody has parsed yet: `bytes[start, end)` holds one value without space around it. Only navigation and
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

/** Objects of it inherit nothing, so every name of a document is safe, and V8 keeps them as compact as other objects. */
const EmptyObject = function EmptyObject() {} as unknown as new () => Record<string, Value>;
EmptyObject.prototype = Object.create(null);

export function newObject(): Record<string, Value> {
  return new EmptyObject();
}

/** Sets an own member. A MISSING value removes it. */
export function setMember(object: Record<string, Value>, name: string, value: Value): void {
  if (value === undefined) delete object[name];
  else object[name] = value;
}
