// Splits request targets and forms. Tokens are decoded after the path is split, so that `%2F` stays inside one.

export interface Target {
  /** Path tokens, decoded; empty ones (double and trailing slashes) are dropped. Null when a token is invalid. */
  readonly tokens: readonly string[] | null;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
}

export function parseTarget(requestTarget: string): Target {
  // Proxies send the absolute form of the target.
  const url = requestTarget[0] === '/' ? requestTarget : requestTarget.replace(/^https?:\/\/[^/?#]*/i, '');
  const end = url.search(/[?#]/);
  const path = end < 0 ? url : url.slice(0, end);
  const query = end < 0 || url[end] === '#' ? {} : parseForm(url.slice(end + 1).replace(/#.*$/s, ''));
  return { tokens: splitPath(path), path, query };
}

function splitPath(path: string): string[] | null {
  try {
    const tokens = path.split('/').filter((token) => token !== '');
    return path.includes('%') ? tokens.map(decodeURIComponent) : tokens;
  } catch {
    return null; // URIError: broken percent-encoding or not UTF-8
  }
}

/**
 * Form fields. Of a repeated name the first value counts, or all values joined by line breaks if the route declares it repeatable. Names and
 * values with invalid encoding are taken literally (clients send role lists unencoded); bytes that are not UTF-8 become
 * U+FFFD, which value rules refuse.
 */
export function parseForm(text: string, repeatable: readonly string[] = []): Record<string, string> {
  const fields: Record<string, string> = Object.create(null);
  for (const pair of text.split('&')) {
    if (pair === '') continue;
    const at = pair.indexOf('=');
    const name = decodeField(at < 0 ? pair : pair.slice(0, at));
    const value = at < 0 ? '' : decodeField(pair.slice(at + 1));
    if (!(name in fields)) fields[name] = value;
    else if (repeatable.includes(name)) fields[name] += `\n${value}`;
  }
  return fields;
}

function decodeField(text: string): string {
  if (!text.includes('%')) return text.replaceAll('+', ' ');
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return decodeLeniently(text.replaceAll('+', ' '));
  }
}

function decodeLeniently(text: string): string {
  const bytes = Buffer.from(text, 'utf8').toString('latin1');
  const decoded = bytes.replace(/%([0-9a-fA-F]{2})/g, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return Buffer.from(decoded, 'latin1').toString('utf8');
}
