// Mirrors a regular expression: the result matches a reversed text where the expression matches the text. So a lookahead becomes a
// lookbehind, for which the engine has an algorithm whose time is linear in the text.

/** The expression has a part that cannot be mirrored. */
export class MirrorError extends Error {}

/** @throws MirrorError */
export function mirroredPattern(pattern: string): string {
  const flags = /^\(\?[imsU-]+\)/.exec(pattern)?.[0] ?? '';
  const reader = new Mirror(pattern, flags.length);
  const mirrored = reader.alternatives();
  if (!reader.isAtEnd) throw new MirrorError('an opening parenthesis is missing');
  return flags + mirrored;
}

const opposites: Readonly<Record<string, string>> = {
  '^': '$',
  $: '^',
  '\\A': '\\z',
  '\\z': '\\A',
};
/** How groups begin, and how the same group begins in the mirrored expression. */
const groupStarts = [
  [/\(\?=/y, () => '(?<='],
  [/\(\?!/y, () => '(?<!'],
  [/\(\?:/y, () => '(?:'],
  [/\(\?P?<[A-Za-z_]\w*>/y, () => '(?:'],
  [/\(\?[imsU-]+:/y, (start: string) => start],
  [/\((?!\?)/y, () => '(?:'],
] as const;
const escapePattern = /\\(?:[pP](?:\{[^}]*\}|.)|x(?:\{[^}]*\}|[0-9A-Fa-f]{2})|[0-7]{1,3}|.)/suy;
const classPattern = /\[\^?\]?(?:\[:\^?\w+:\]|\\[pP]\{[^}]*\}|\\.|[^\]\\])*\]/suy;
const quantifierPattern = /(?:[*+?]|\{\d+(?:,\d*)?\})\??/y;
const characterPattern = /./suy;

class Mirror {
  private readonly pattern: string;
  private at: number;

  constructor(pattern: string, at: number) {
    this.pattern = pattern;
    this.at = at;
  }

  get isAtEnd(): boolean {
    return this.at >= this.pattern.length;
  }

  alternatives(): string {
    const found = [this.sequence()];
    while (this.pattern[this.at] === '|') {
      this.at++;
      found.push(this.sequence());
    }
    return found.join('|');
  }

  private sequence(): string {
    const parts: string[] = [];
    while (!this.isAtEnd && this.pattern[this.at] !== '|' && this.pattern[this.at] !== ')')
      parts.push(this.part() + (this.match(quantifierPattern) ?? ''));
    return parts.reverse().join('');
  }

  private part(): string {
    const first = this.pattern[this.at];
    if (first === '(') return this.group();
    const text =
      first === '['
        ? this.match(classPattern)
        : this.match(first === '\\' ? escapePattern : characterPattern);
    if (text === null) throw new MirrorError('the closing ] is missing');
    if (text === '\\Q' || text === '\\E') throw new MirrorError('beside a lookahead, \\Q is not available');
    return opposites[text] ?? text;
  }

  private group(): string {
    for (const [start, mirrored] of groupStarts) {
      const text = this.match(start);
      if (text === null) continue;
      const content = this.alternatives();
      if (this.match(/\)/y) === null) throw new MirrorError('the closing ) is missing');
      return `${mirrored(text)}${content})`;
    }
    const rest = this.pattern.slice(this.at);
    if (/^\(\?<[=!]/.test(rest))
      throw new MirrorError('lookahead and lookbehind cannot stand in one expression');
    throw new MirrorError('beside a lookahead, flags stand at the start or in a group, such as (?i:a)');
  }

  /** The text that the pattern matches here; null: it does not. */
  private match(pattern: RegExp): string | null {
    pattern.lastIndex = this.at;
    const text = pattern.exec(this.pattern)?.[0];
    if (text === undefined) return null;
    this.at += text.length;
    return text;
  }
}

/** Reverses characters, not UTF-16 units: characters outside of the basic plane have two. */
export const mirroredText = (text: string): string => [...text].reverse().join('');
