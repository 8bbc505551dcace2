// Indents JSON text without parsing its values, so that large numbers and repeated members stay as they are stored.

/** Above this number of characters text stays as it is: an editor with more lines would be slow. */
const indentedMax = 1_000_000;

/** `text` must be JSON. */
export function indented(text: string): string {
  if (text.length > indentedMax) return text;
  const tokens = text.match(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s"{}[\],:]+/gs) ?? [];
  let depth = 0;
  let out = '';
  for (const [index, token] of tokens.entries()) {
    const before = tokens[index - 1];
    const closes = token === '}' || token === ']';
    if (closes) depth--;
    const isEmpty = closes && (before === '{' || before === '[');
    const startsLine = before === '{' || before === '[' || before === ',' || closes;
    if (startsLine && !isEmpty) out += `\n${'  '.repeat(depth)}`;
    out += token === ':' ? ': ' : token;
    if (token === '{' || token === '[') depth++;
  }
  return out;
}

/** Why the text is not JSON; undefined if it is. */
export function jsonProblem(text: string): string | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    return `This is not JSON: ${(error as Error).message}`;
  }
}

/** Why the text is not a JSON object such as `example`; undefined if it is. */
export function objectProblem(text: string, example: string): string | undefined {
  const syntax = jsonProblem(text);
  if (syntax !== undefined) return syntax;
  const value: unknown = JSON.parse(text);
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isObject ? undefined : `This is not an object: ${example}.`;
}
