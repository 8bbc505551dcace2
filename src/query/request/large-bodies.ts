// Reads the values of large bodies in steps, between which other requests have the thread. The values are those that `value-of-json.ts` makes.
import type { WorkSteps } from '#base/steps.ts';
import { JsonDepthError, JsonError } from '#sqlpp/values/json-parse.ts';
import { StepParser } from '#sqlpp/values/json-steps.ts';
import type { Value } from '#sqlpp/values/value.ts';
import { badValue, type SentValue } from './sent-value.ts';
import { TooDeepError } from './value-of-json.ts';

/** From this many bytes of a body, or characters of an argument, on, reading takes more than a few milliseconds. */
export const largeLengthMin = 64 << 10;
const openingBrace = 0x7b;
const closingBrace = 0x7d;

/** Parses as JSON.parse does: the last of duplicate members counts. */
class BodyParser extends StepParser {
  protected override duplicates = 'last' as const;

  /** The members of the body, duplicates too. */
  *values(): WorkSteps<SentValue[]> {
    const values: SentValue[] = [];
    this.space();
    if (this.bytes[this.at] !== openingBrace) {
      yield* this.wholeInSteps();
      throw badValue('JSON request body', 'it must be an object of parameters');
    }
    this.at++;
    this.space();
    if (this.bytes[this.at] === closingBrace) this.at++;
    else
      do {
        const name = this.memberName();
        values.push({ name, value: yield* this.memberValue(name), isText: false });
        this.space();
      } while (this.comma(closingBrace));
    this.checkEnd();
    return values;
  }

  private *memberValue(name: string): WorkSteps<Value> {
    try {
      return yield* this.valueInSteps();
    } catch (error) {
      throw error instanceof JsonDepthError ? badValue(name, tooDeep) : error;
    }
  }
}

const tooDeep = new TooDeepError().message;

/** The members of a JSON body. @throws SqlError 1040 */
export function* largeJsonValues(body: Buffer): WorkSteps<SentValue[]> {
  try {
    return yield* new BodyParser(body, 0, body.length).values();
  } catch (error) {
    throw error instanceof JsonError ? badValue('JSON request body', error.message) : error;
  }
}

/** Characters of a form that are decoded in one step. */
const decodedAtOnce = 16 << 10;

/** The fields of a form, at most `fieldsMax`. */
export function* largeFormValues(text: string, fieldsMax: number): WorkSteps<SentValue[]> {
  const values: SentValue[] = [];
  for (let at = 0; at < text.length && values.length < fieldsMax; yield) {
    const next = text.indexOf('&', at + decodedAtOnce);
    const end = next < 0 ? text.length : next;
    // A leading question mark is no part of a form; one within the form is.
    const part = new URLSearchParams(at === 0 ? text.slice(0, end) : `&${text.slice(at, end)}`);
    for (const [name, value] of part) values.push({ name, value, isText: true });
    at = end + 1;
  }
  return values.slice(0, fieldsMax);
}

/** Parses a large argument of a form; returns other values unchanged. @throws SqlError 1040 */
export function* parsedArgument(sent: SentValue): WorkSteps<SentValue> {
  const { name, value: text, isText } = sent;
  const argument = name.trim();
  const isNamed = argument[0] === '$' || argument[0] === '@';
  const isLarge = isText && typeof text === 'string' && text.length >= largeLengthMin;
  if (!isLarge || !(isNamed || argument.toLowerCase() === 'args')) return sent;
  const bytes = Buffer.from(text);
  try {
    return { name, value: yield* new BodyParser(bytes, 0, bytes.length).wholeInSteps(), isText: false };
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    const problem = isNamed ? 'the value is not JSON' : 'it is not a JSON array';
    throw badValue(name, error instanceof JsonDepthError ? tooDeep : problem);
  }
}
