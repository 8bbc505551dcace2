// Calls user-defined functions in JavaScript: sends the arguments as JSON to a thread with a sandbox, and parses the result. A failure becomes
// error 10109, whose `reason` has the published form of those failures for which one is published.
import { type SqlError, sqlError, sqlErrorWith } from '#sqlpp/errors/sql-error.ts';
import { jsonText } from '#sqlpp/values/json-text.ts';
import type { Value, ValueObject } from '#sqlpp/values/value.ts';
import { type KnownLibraries, libraryPath, libraryPlace } from '../functions/known-libraries.ts';
import { type FunctionDefinition, type FunctionLibrary, libraryCodeBytesMax } from '../query.contract.ts';
import { TooDeepError, valueOfJson } from '../request/value-of-json.ts';
import {
  type JavaScriptReply,
  javaScriptLimits,
  type LibraryCode,
  type RefusalType,
} from './javascript-messages.ts';
import { JavaScriptError, type JavaScriptThreads } from './javascript-threads.ts';

export interface FunctionCaller {
  /** Unique to a request: its calls may see global variables that earlier ones set. */
  readonly session: number;
  readonly user: string;
  readonly signal: AbortSignal;
}

type ErrorType = RefusalType | 'Exceptions from JS code';

/** Characters of an exception, as JSON text, in an error. */
const exceptionLengthMax = 8_192;
/** Characters of a line of code, or of a line of the stack, in an error. */
const codeLengthMax = 200;
/** Lines of the stack in an error. */
const stackLinesMax = 20;
const neverAborted = new AbortController().signal;

export class JavaScriptFunctions {
  private readonly threads: JavaScriptThreads;
  private readonly libraries: KnownLibraries;
  private lastSession = 0;

  constructor({ threads, libraries }: { threads: JavaScriptThreads; libraries: KnownLibraries }) {
    this.threads = threads;
    this.libraries = libraries;
  }

  newSession(): number {
    return ++this.lastSession;
  }

  /** @throws SqlError, or the reason of the caller's signal */
  async call(
    definition: FunctionDefinition,
    values: readonly Value[],
    caller: FunctionCaller,
  ): Promise<Value> {
    const failed = (details: unknown, type: ErrorType): SqlError => executionError(definition, details, type);
    const library = this.libraryOf(definition);
    if (library === undefined)
      throw failed(`library ${definition.library ?? ''}: it does not exist`, 'Library or function missing');
    const text = `[${values.map(jsonText).join()}]`;
    const { argumentsLength } = javaScriptLimits;
    if (text.length > argumentsLength)
      throw failed(
        `the arguments must have at most ${argumentsLength} characters as JSON text, and have ${text.length}`,
        'Limit exceeded',
      );
    const code = codeOf(library);
    const job = {
      kind: 'call',
      library: code,
      name: definition.body,
      arguments: text,
      undefinedAt: values.flatMap((value, at) => (value === undefined ? [at] : [])),
    } as const;
    const session = `${caller.session} ${this.libraries.revision} ${code.file}`;
    try {
      const reply = await this.threads.run({ job, session, user: caller.user, signal: caller.signal });
      return resultOf(reply, code, failed);
    } catch (error) {
      if (error instanceof JavaScriptError) throw failed(error.message, 'Limit exceeded');
      throw error;
    }
  }

  /** Why the code cannot be a library; null: it can. */
  async problemOf(library: FunctionLibrary): Promise<string | null> {
    const bytes = Buffer.byteLength(library.code);
    // Nothing interrupts a compilation, whose time may grow with the square of the length.
    if (bytes > libraryCodeBytesMax)
      return `a library has at most ${libraryCodeBytesMax} bytes, and this one has ${bytes}`;
    const code = codeOf(library);
    const run = { job: { kind: 'check', library: code }, user: '', signal: neverAborted } as const;
    const reply = await this.threads.run(run).catch((error: unknown) => {
      if (error instanceof JavaScriptError)
        return { kind: 'refused', reason: error.message, type: 'Limit exceeded' } as const;
      throw error;
    });
    if (reply.kind === 'checked') return null;
    if (reply.kind === 'refused') return reply.reason;
    if (reply.kind !== 'thrown') return 'its syntax could not be checked';
    const { Location, Code } = placeOf(reply.stack, code);
    return `${String(JSON.parse(reply.exception))}${Location ? ` at ${Location}` : ''}${Code ? `: ${Code.trim()}` : ''}`;
  }

  private libraryOf({ library = '', scope }: FunctionDefinition): FunctionLibrary | undefined {
    const place = libraryPlace(library, scope);
    if (place === null) throw sqlError(10114, library);
    return this.libraries.find(place);
  }
}

function executionError(definition: FunctionDefinition, details: unknown, type: ErrorType): SqlError {
  const { name, library, body } = definition;
  return sqlErrorWith(10109, { reason: { details, type } }, name, `(${library}:${body})`);
}

function resultOf(
  reply: JavaScriptReply,
  code: LibraryCode,
  failed: (details: unknown, type: ErrorType) => SqlError,
): Value {
  switch (reply.kind) {
    case 'returned':
      return (valueIn(reply.text, failed) as ValueObject)['value'];
    case 'thrown':
      throw failed(
        { Exception: exceptionOf(reply.exception), ...placeOf(reply.stack, code) },
        'Exceptions from JS code',
      );
    case 'refused':
      throw failed(reply.reason, reply.type);
    default:
      throw failed('it was interrupted', 'Limit exceeded');
  }
}

function valueIn(text: string, failed: (details: unknown, type: ErrorType) => SqlError): Value {
  try {
    return valueOfJson(text);
  } catch (error) {
    throw error instanceof TooDeepError ? failed(`the result: ${error.message}`, 'Limit exceeded') : error;
  }
}

const codeOf = (library: FunctionLibrary): LibraryCode => ({
  file: `functions/${libraryPath(library)}.js`,
  code: library.code,
});

const exceptionOf = (json: string): unknown =>
  json.length > exceptionLengthMax ? `${json.slice(0, exceptionLengthMax)}…` : JSON.parse(json);

/** The line of the library that threw, and the calls that led there. */
function placeOf(stack: string | null, { file, code }: LibraryCode): Partial<Record<string, string>> {
  const calls = (stack ?? '').split('\n').filter((line) => line.includes(`${file}:`));
  const line = Number(calls[0]?.split(`${file}:`)[1]?.split(':')[0]);
  if (!Number.isInteger(line)) return {};
  const shown = calls.slice(0, stackLinesMax).map((call) => `   ${call.trim().slice(0, codeLengthMax)}`);
  return {
    Code: code.split('\n')[line - 1]?.slice(0, codeLengthMax) ?? '',
    Location: `${file}:${line}`,
    Stack: shown.join('\n'),
  };
}
