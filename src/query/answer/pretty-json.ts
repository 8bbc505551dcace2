// Indents JSON text by four spaces per level. Values are not parsed, so that numbers keep their notation. The text may come in parts.

const quote = 0x22;
const backslash = 0x5c;
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
      const inserted = code <= 0x20 ? '' : this.spaceBefore(character);
      if (inserted !== '' || code <= 0x20) {
        text += json.slice(from, at) + inserted;
        from = code <= 0x20 ? at + 1 : at;
      }
      if (code <= 0x20) continue;
      if (code === 0x3a) {
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
      this.indent = this.indent.slice(0, -4);
      return isFirst ? '' : this.indent;
    }
    const indent = isFirst || this.before === ',' ? this.indent : '';
    if (openings.includes(character)) this.indent += '    ';
    return indent;
  }
}
