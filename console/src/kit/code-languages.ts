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

/** What a line ends inside of: a string, a name in backticks, or a comment. */
interface Inside {
  inside: keyof typeof ends | null;
}

const ends = { "'": "'", '"': '"', '`': '`', '/*': '*/' } as const;

const sqlpp = StreamLanguage.define<Inside>({
  name: 'sqlpp',
  startState: () => ({ inside: null }),
  token: (text, state) => {
    if (state.inside !== null) return restOf(text, state, state.inside);
    if (text.eatSpace()) return null;
    if (text.match('--')) {
      text.skipToEnd();
      return 'comment';
    }
    for (const start of Object.keys(ends) as (keyof typeof ends)[])
      if (text.match(start)) return restOf(text, state, start);
    if (text.match(number)) return 'number';
    if (text.match(/^\$\w+|^\?/)) return 'atom';
    if (text.match(/^[A-Za-z_]\w*/)) return kindOfWord(text.current());
    text.next();
    return null;
  },
});

/** Two ends in a row stand for one within a string: they are read as two strings, which look the same. */
function restOf(text: StringStream, state: Inside, start: keyof typeof ends): string | null {
  const isEnded = text.skipTo(ends[start]);
  if (isEnded) text.match(ends[start]);
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
