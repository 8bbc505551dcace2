// Indents JSON text by four spaces per level. Values are not parsed, so that numbers keep their notation. The text may come in parts.

const quote = 0x22;
const backslash = 0x5c;
const colon = 0x3a;
/** The highest code of white space. Lower codes occur in JSON only as white space. */
const space = 0x20;
/** The indentation of one level. */
const level = '    ';
const openings = '{[';
const closings = '}]';

export class PrettyJson {
  /** The line break before a value, with its indentation. */
  private indent: string;
  private isInString = false;
  /** Whether the string's next character belongs to an escape. */
  private isEscaped = false;
  /** The last character outside of strings; a quote for a whole string. */
  private before = '';

  /** `prefix` precedes each further line. */
  constructor(prefix: string) {
    this.indent = `\n${prefix}`;
  }

  format(json: string): string {
    let text = '';
    // Characters from here on are unchanged.
    let from = 0;
    for (let at = 0; at < json.length; at++) {
      const code = json.charCodeAt(at);
      if (this.isInString) {
        if (this.isEscaped) this.isEscaped = false;
        else if (code === backslash) this.isEscaped = true;
        else if (code === quote) this.isInString = false;
        continue;
      }
      const character = json[at] as string;
      const inserted = code <= space ? '' : this.spaceBefore(character);
      if (inserted !== '' || code <= space) {
        text += json.slice(from, at) + inserted;
        from = code <= space ? at + 1 : at;
      }
      if (code <= space) continue;
      if (code === colon) {
        text += `${json.slice(from, at)}: `;
        from = at + 1;
      }
      this.isInString = code === quote;
      this.before = character;
    }
    return text + json.slice(from);
  }

  private spaceBefore(character: string): string {
    const isFirst = openings.includes(this.before) && this.before !== '';
    if (closings.includes(character)) {
      this.indent = this.indent.slice(0, -level.length);
      return isFirst ? '' : this.indent;
    }
    const indent = isFirst || this.before === ',' ? this.indent : '';
    if (openings.includes(character)) this.indent += level;
    return indent;
  }
}
