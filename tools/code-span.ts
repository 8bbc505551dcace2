// Code within a line of Markdown.

/** Puts the text in a fence of more backticks than it has in a row, and escapes `|`, which would end a cell of a table. */
export function codeSpan(text: string): string {
  const escaped = text.replaceAll('|', '\\|');
  const runs = escaped.match(/`+/g);
  if (runs === null) return `\`${escaped}\``;
  const fence = '`'.repeat(Math.max(...runs.map(({ length }) => length)) + 1);
  // A backtick at the beginning or end of the text would belong to the fence.
  return `${fence} ${escaped} ${fence}`;
}
