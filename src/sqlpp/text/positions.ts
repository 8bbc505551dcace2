// Positions in a statement for messages.

/** Messages show at most the beginning of a long token. */
const wordMax = 1_000;

/** Line and column of an offset, both from 0. */
function placeOf(text: string, offset: number): { readonly line: number; readonly column: number } {
  let line = 0;
  let lineStart = 0;
  for (let at = text.indexOf('\n'); at >= 0 && at < offset; at = text.indexOf('\n', at + 1)) {
    line++;
    lineStart = at + 1;
  }
  return { line, column: offset - lineStart };
}

/** The suffix ` (near line 1, column 7)` of messages. */
export function nearText(text: string, offset: number): string {
  const { line, column } = placeOf(text, offset);
  return ` (near line ${line + 1}, column ${column})`;
}

/** ` - line 1, column 8, near 'SELECT', at: FRM` */
export function placeText(text: string, start: number, end: number): string {
  if (start >= text.length) return ' - at end of input';
  const { line, column } = placeOf(text, start);
  const before = text
    .slice(start - column, start)
    .trimEnd()
    .slice(-20);
  const near = before === '' ? '' : ` near '${before}',`;
  return ` - line ${line + 1}, column ${column + 1},${near} at: ${text.slice(start, Math.min(end, start + wordMax))}`;
}
