// Indents JSON text by four spaces a level, without reading its values: numbers stay as they were written.

/** `prefix` stands in front of every line but the first. */
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
