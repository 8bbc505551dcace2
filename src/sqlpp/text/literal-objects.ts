// Documents in long statements, as programs write them after VALUES: one constant in the tree instead of a node for each member.
import { newObject, type Value } from '../values/value.ts';
import { isSameNumber, readAsJson } from './literal-json.ts';

/** In shorter statements objects are nodes of the tree. */
const statementLengthMin = 32 << 10;
/** Once more objects than this were not JSON, no more are tried: a failure takes several times as long as scanning the tokens of the object. */
const failuresMax = 32;
/** No more objects are tried after one that is nested more deeply. */
const depthMax = 100;

const [quote, colon, open, close] = [34, 58, 123, 125];
const [openList, closeList] = [91, 93];

interface Span {
  readonly end: number;
  /** The colons outside of strings. */
  readonly colons: number;
}

/** Reads objects without scanning their tokens. Each part of the text is tried at most once. */
export class LiteralObjects {
  readonly #text: string;
  #triedUntil = 0;
  #failures = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** The object whose bracket opens here, with its end, if its text means the same in JSON. */
  at(start: number): { readonly value: Value; readonly end: number } | undefined {
    const text = this.#text;
    if (text.length < statementLengthMin || start < this.#triedUntil || this.#failures > failuresMax)
      return undefined;
    const span = spanOf(text, start);
    this.#triedUntil = span?.end ?? text.length;
    if (span === undefined) return undefined;
    const value = constantOf(text.slice(start, span.end), span.colons);
    if (value !== undefined) return { value, end: span.end };
    this.#failures++;
    return undefined;
  }
}

/** Where the object ends, at the bracket that closes it; undefined if none does. Escaped quotes count as quotes, since `readAsJson` accepts no escapes. */
function spanOf(text: string, start: number): Span | undefined {
  let [depth, colons] = [0, 0];
  for (let at = start; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === quote) {
      at = text.indexOf('"', at + 1);
      if (at < 0) return undefined;
    } else if (code === colon) colons++;
    else if (code === open || code === openList) {
      if (++depth > depthMax) return undefined;
    } else if ((code === close || code === closeList) && --depth === 0) return { end: at + 1, colons };
  }
  return undefined;
}

function constantOf(text: string, colons: number): Value {
  const parsed = readAsJson(text);
  if (parsed === undefined) return undefined;
  const copy = new Copy();
  const value = copy.of(parsed);
  // JSON keeps the last of several members with one name.
  return copy.isSame && copy.members === colons ? value : undefined;
}

/** Copies a value of JSON to one of the language. */
class Copy {
  members = 0;
  /** False: a number has another value in JSON than in the language. */
  isSame = true;

  of(value: unknown): Value {
    if (typeof value === 'number') {
      if (!isSameNumber(value)) this.isSame = false;
      return value;
    }
    if (typeof value !== 'object' || value === null) return value as Value;
    if (Array.isArray(value)) return value.map((item) => this.of(item));
    const object = newObject();
    for (const [name, member] of Object.entries(value)) {
      this.members++;
      object[name] = this.of(member);
    }
    return object;
  }
}
