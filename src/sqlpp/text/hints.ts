// Parses optimizer hints: `INDEX(keyspace index …) USE_NL(keyspace) ORDERED`, or the same as a JSON object. An invalid hint has no
// effect; it is kept with its problem for EXPLAIN.
import type { Hint, Hints } from '../tree/query.ts';

const hintsMax = 100;

export function parseHints(text: string): Hints {
  const trimmed = text.trim();
  return { text, hints: trimmed.startsWith('{') ? fromJson(trimmed) : fromWords(trimmed) };
}

function fromWords(text: string): Hint[] {
  const hints: Hint[] = [];
  const pattern = /\s*([A-Za-z_][A-Za-z0-9_]*)\s*(?:\(([^()]*)\))?/y;
  while (pattern.lastIndex < text.length && hints.length < hintsMax) {
    const from = pattern.lastIndex;
    const match = pattern.exec(text);
    if (match === null) {
      return [...hints, { name: text.slice(from).trim(), arguments: [], problem: 'Invalid hint name' }];
    }
    const words = match[2] === undefined ? undefined : wordsOf(match[2]);
    hints.push(...hintsNamed(match[1] as string, words));
  }
  return hints;
}

/** Names with or without backticks; `a / BUILD` is `a/BUILD`. */
function wordsOf(text: string): string[] {
  const words = text.match(/`[^`]*`(?:\s*\/\s*\w+)?|[^\s,`/]+(?:\s*\/\s*\w+)?/g) ?? [];
  return words.map((word) => word.replaceAll('`', '').replaceAll(/\s*\/\s*/g, '/'));
}

function hintsNamed(written: string, words: readonly string[] | undefined): Hint[] {
  const name = written.toLowerCase();
  const list = words ?? [];
  const hint = (argumentsOf: readonly string[], problem?: string): Hint => ({
    name,
    arguments: argumentsOf,
    problem,
  });
  switch (name) {
    case 'index':
    case 'index_fts': {
      if (list.length === 0) return [hint([], `Missing argument for ${written}`)];
      const invalid = list.slice(1).find((word) => word.includes('/'));
      return [hint(list, invalid === undefined ? undefined : `Invalid '/' found in ${invalid}`)];
    }
    case 'use_nl': {
      if (list.length === 0) return [hint([], `Missing argument for ${written}`)];
      return list.map((word) =>
        hint([word], word.includes('/') ? `Invalid '/' found in ${word}` : undefined),
      );
    }
    case 'use_hash': {
      if (list.length === 0) return [hint([], `Missing argument for ${written}`)];
      return list.map((word) => hint([word], hashProblem(word)));
    }
    case 'ordered':
      return [hint(list, words === undefined ? undefined : `Argument not expected: (${list.join(' ')})`)];
    default:
      return [hint(list, 'Invalid hint name')];
  }
}

function hashProblem(word: string): string | undefined {
  const [, option, more] = word.split('/');
  if (more !== undefined) return `Extra '/' found in ${word}`;
  if (option === undefined || /^(build|probe)$/i.test(option)) return undefined;
  return `Invalid hash option (BUILD or PROBE only): ${option}`;
}

interface JsonHint {
  readonly keyspace?: unknown;
  readonly alias?: unknown;
  readonly indexes?: unknown;
  readonly option?: unknown;
}

function fromJson(text: string): Hint[] {
  let object: Record<string, unknown>;
  try {
    object = JSON.parse(text) as Record<string, unknown>;
  } catch {
    return [{ name: text, arguments: [], problem: 'Invalid hint name' }];
  }
  return Object.entries(object)
    .flatMap(([name, value]) => {
      const list = Array.isArray(value) ? (value as unknown[]) : [value];
      return list.flatMap((item) => hintsNamed(name, jsonWords(name, item)));
    })
    .slice(0, hintsMax);
}

function jsonWords(name: string, item: unknown): string[] | undefined {
  if (name.toLowerCase() === 'ordered') return undefined;
  if (typeof item !== 'object' || item === null) return [String(item)];
  const { keyspace, alias, indexes, option } = item as JsonHint;
  const first = String(keyspace ?? alias ?? '');
  const others = Array.isArray(indexes)
    ? indexes
    : indexes === undefined || indexes === null
      ? []
      : [indexes];
  return [option === undefined ? first : `${first}/${String(option)}`, ...others.map(String)];
}
