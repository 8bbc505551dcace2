// Code within a line of Markdown.

/** In a fence of more backticks than the text has in a row. In a table `|` would end the cell. */
export function codeSpan(text: string): string {
  const escaped = text.replaceAll('|', '\\|');
  const runs = escaped.match(/`+/g);
  if (runs === null) return `\`${escaped}\``;
  const fence = '`'.repeat(Math.max(...runs.map(({ length }) => length)) + 1);
  // A backtick at the begin or end of the text would belong to the fence.
  return `${fence} ${escaped} ${fence}`;
}
