// What the editor colours: the tokens of JSON and of SQL++, line by line. It does not check the text: a form and the node do.
import { StreamLanguage, type StringStream } from '@codemirror/language';
import { keywordOf } from '../../../src/sqlpp/text/keywords.ts';

export type CodeLanguage = 'json' | 'sqlpp';

const number = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/;
const constants: ReadonlySet<string> = new Set(['true', 'false', 'null', 'missing']);

const json = StreamLanguage.define({
  name: 'json',
  token: (text) => {
    if (text.eatSpace()) return null;
    if (text.match(/^"[^"\\]*(?:\\.[^"\\]*)*"?/))
      return text.match(/^\s*:/, false) ? 'propertyName' : 'string';
    if (text.match(number)) return 'number';
    if (text.match(/^(?:true|false|null)\b/)) return 'atom';
    text.next();
    return null;
  },
});

/** What is open at the end of a line: a string, a name in backticks, or a comment. */
interface OpenAtLineEnd {
  inside: keyof typeof closers | null;
}

const closers = { "'": "'", '"': '"', '`': '`', '/*': '*/' } as const;

const sqlpp = StreamLanguage.define<OpenAtLineEnd>({
  name: 'sqlpp',
  startState: () => ({ inside: null }),
  token: (text, state) => {
    if (state.inside !== null) return restOf(text, state, state.inside);
    if (text.eatSpace()) return null;
    if (text.match('--')) {
      text.skipToEnd();
      return 'comment';
    }
    for (const start of Object.keys(closers) as (keyof typeof closers)[])
      if (text.match(start)) return restOf(text, state, start);
    if (text.match(number)) return 'number';
    if (text.match(/^\$\w+|^\?/)) return 'atom';
    if (text.match(/^[A-Za-z_]\w*/)) return kindOfWord(text.current());
    text.next();
    return null;
  },
});

/** A doubled quote within a string stands for one. It is read as the end of a string and the start of another: both get the same colour. */
function restOf(text: StringStream, state: OpenAtLineEnd, start: keyof typeof closers): string | null {
  const isEnded = text.skipTo(closers[start]);
  if (isEnded) text.match(closers[start]);
  else text.skipToEnd();
  state.inside = isEnded ? null : start;
  if (start === '/*') return 'comment';
  return start === '`' ? null : 'string';
}

function kindOfWord(word: string): string | null {
  if (constants.has(word.toLowerCase())) return 'atom';
  return keywordOf(word) === undefined ? null : 'keyword';
}

export const languages: Readonly<Record<CodeLanguage, StreamLanguage<unknown>>> = {
  json,
  sqlpp: sqlpp as StreamLanguage<unknown>,
};
