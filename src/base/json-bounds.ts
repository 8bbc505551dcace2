// Bounds of JSON from clients, checked on the bytes before parsing: deep nesting and millions of small values cost the
// parser, and all readers of the result, many times as much as one long text of the same size.

export const jsonLevels = 64;
export const jsonValues = 100_000;

const code = (text: string): number => text.charCodeAt(0);
const [quote, backslash, comma, colon] = [code('"'), code('\\'), code(','), code(':')];
const opens: ReadonlySet<number> = new Set([code('['), code('{')]);
const closes: ReadonlySet<number> = new Set([code(']'), code('}')]);

interface JsonBounds {
  readonly levels: number;
  readonly values: number;
}

const usualBounds: JsonBounds = { levels: jsonLevels, values: jsonValues };

/** The reason of the refusal; null within the bounds. Whether the text is valid JSON is left to the parser. */
export function jsonBoundsProblem(bytes: Uint8Array, bounds = usualBounds): string | null {
  let level = 0;
  let values = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] as number;
    if (byte === quote) at = endOfText(bytes, at);
    else if (opens.has(byte)) {
      level++;
      values++;
      if (level > bounds.levels) return `Json must have at most ${bounds.levels} levels`;
    } else if (closes.has(byte)) level--;
    else if (byte === comma || byte === colon) values++;
    if (values > bounds.values) return `Json must have at most ${bounds.values} values`;
  }
  return null;
}

/** Index of the closing quote, or of the end of a text without one. */
function endOfText(bytes: Uint8Array, start: number): number {
  for (let at = start + 1; at < bytes.length; at++) {
    if (bytes[at] === backslash) at++;
    else if (bytes[at] === quote) return at;
  }
  return bytes.length;
}
