// Escapes in strings and names: those of JSON, `\'` and `` \` ``, and a doubled quote in single quotes and backticks.

const simple: Readonly<Record<string, string>> = {
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  '/': '/',
  '\\': '\\',
  '"': '"',
  "'": "'",
  '`': '`',
};

/** Unescapes the text between the quotes at `start` and `end - 1`. */
export function unquote(text: string, start: number, end: number): string | { readonly problem: string } {
  const quote = text[start] as string;
  if (end - start < 2) return { problem: 'invalid string' };
  if (text[end - 1] !== quote) return { problem: 'missing closing quote' };
  const inner = text.slice(start + 1, end - 1);
  if (!inner.includes('\\') && !inner.includes(quote)) return inner;
  return unescapeSlowly(inner, quote);
}

function unescapeSlowly(inner: string, quote: string): string | { readonly problem: string } {
  let result = '';
  for (let at = 0; at < inner.length; at++) {
    const character = inner[at] as string;
    if (character === quote) at++;
    if (character !== '\\') {
      result += character;
      continue;
    }
    const next = inner[++at];
    // The text ends with a backslash: it escaped the closing quote.
    if (next === undefined) return { problem: 'missing closing quote' };
    if (next === 'u') {
      const unit = hexOf(inner.slice(at + 1, at + 5));
      if (unit === undefined) return { problem: 'invalid escape sequence' };
      result += String.fromCharCode(unit);
      at += 4;
      continue;
    }
    const plain = simple[next];
    if (plain === undefined) return { problem: 'invalid escape sequence' };
    result += plain;
  }
  return result.isWellFormed() ? result : result.toWellFormed();
}

function hexOf(digits: string): number | undefined {
  return /^[0-9a-fA-F]{4}$/.test(digits) ? Number.parseInt(digits, 16) : undefined;
}

export function quoteName(name: string): string {
  if (!/[`\\\p{Cc}]/u.test(name)) return `\`${name}\``;
  return `\`${JSON.stringify(name).slice(1, -1).replaceAll('\\"', '"').replaceAll('`', '``')}\``;
}
