// Indents JSON text by four spaces per level without parsing its values: numbers keep their notation.

/** `prefix` precedes every line except the first. */
export function prettyJson(json: string, prefix: string): string {
  let text = '';
  let indent = `\n${prefix}`;
  const tokens = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s"{}[\],:]+/g;
  let before = '';
  for (const [token] of json.matchAll(tokens)) {
    const isEnd = token === '}' || token === ']';
    if (isEnd) indent = indent.slice(0, -4);
    if (isEnd ? before !== '{' && before !== '[' : before === '{' || before === '[' || before === ',')
      text += indent;
    text += token === ':' ? ': ' : token;
    if (token === '{' || token === '[') indent += '    ';
    before = token;
  }
  return text;
}
