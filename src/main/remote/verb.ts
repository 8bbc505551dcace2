// Commands with verbs, such as `divan bucket create NAME`: one declaration each gives the parser, the help, the reference page and the
// completions of shells.
import { nearest } from '#base/nearest.ts';
import { DataPortError, StatusError } from '#client/data-port-error.ts';
import { CommandError } from '../exit-status.ts';
import { describeOptions, type OptionSpecs, type OptionValues, UsageError } from '../options.ts';
import { checkWords, splitWords } from '../split-words.ts';
import type { RemoteOptions } from './remote-node.ts';
import { writeLine } from './terminal-text.ts';

/** What is printed: with `--json` the value, else the text, or the bytes unchanged. */
export interface VerbOutput {
  readonly value: unknown;
  readonly text: string | Buffer;
}

type Run<S extends OptionSpecs> = (
  options: OptionValues<S>,
  words: readonly string[],
) => Promise<VerbOutput | null>;

export interface Verb {
  /** The verb and its words: `create NAME`, `get BUCKET KEY`, `[FILE]` for one that may be left out. */
  readonly usage: string;
  readonly doc: string;
  readonly options: OptionSpecs;
  /** Returns null if the verb has printed everything itself. */
  readonly run: Run<OptionSpecs>;
}

export const verb = <const S extends OptionSpecs>(
  usage: string,
  doc: string,
  options: S,
  run: Run<S>,
): Verb => ({
  usage,
  doc,
  options,
  run: run as unknown as Run<OptionSpecs>,
});

/** The verb itself; empty for a command with only one. */
export const nameOf = ({ usage }: Verb): string => /^[a-z-]*/.exec(usage)?.[0] ?? '';

export async function runVerb(
  command: string,
  verbs: readonly Verb[],
  args: readonly string[],
): Promise<void> {
  const found = verbOf(command, verbs, args);
  const rest = nameOf(found) === '' ? args : args.slice(1);
  const { words, options } = splitWords(rest, found.options);
  checkWords(`divan ${command} ${found.usage}`.trimEnd(), words);
  const answer = await withCommandError(options, () => found.run(options, words));
  if (answer === null) return;
  const text = (options as { json?: boolean }).json ? JSON.stringify(answer.value) : answer.text;
  if (typeof text !== 'string') process.stdout.write(text);
  else if (text !== '') writeLine(text);
}

/** Makes a `CommandError` of a failed request to the data port, so that it is reported without a stack: it is no defect of the command. */
async function withCommandError<T>(options: object, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof DataPortError || error instanceof StatusError) throw new CommandError(error.message);
    if (error instanceof TypeError) await requireNode(options);
    throw error;
  }
}

/** Any server may answer JSON: an answer of another shape than a node's would look like a defect of the command. */
async function requireNode(options: object): Promise<void> {
  if (!('url' in options)) return;
  const { RemoteNode } = await import('./remote-node.ts');
  const node = new RemoteNode(options as RemoteOptions);
  const pools = (await node.get('/pools')) as { implementationVersion?: unknown } | null;
  if (typeof pools?.implementationVersion !== 'string')
    throw new CommandError(`the answers are not those of a node; is ${node.url} the address of one?`);
}

/** Help of one verb, or the list of all. */
export function verbHelp(
  command: string,
  doc: string,
  verbs: readonly Verb[],
  args: readonly string[],
): string {
  const only = verbs.length === 1 ? verbs[0] : undefined;
  const found = only ?? verbs.find((one) => nameOf(one) === args[0]);
  if (found !== undefined)
    return `${`divan ${command} ${found.usage}`.trimEnd()}: ${found.doc}\n\n${describeOptions(found.options)}\n`;
  const width = Math.max(...verbs.map(({ usage }) => usage.length));
  const rows = verbs.map((one) => `  divan ${command} ${one.usage.padEnd(width)}  ${one.doc}`);
  return `divan ${command}: ${doc}\n\n${rows.join('\n')}\n\nOptions of a verb: divan ${command} <verb> --help\n`;
}

function verbOf(command: string, verbs: readonly Verb[], [name, ...others]: readonly string[]): Verb {
  const found = verbs.find((one) => nameOf(one) === '' || nameOf(one) === name);
  if (found !== undefined) return found;
  const names = verbs.map(nameOf);
  const late = name?.startsWith('-') ? others.find((word) => names.includes(word)) : undefined;
  if (late !== undefined)
    throw new UsageError(
      `"${name}" is given before the verb; the verb comes first: divan ${command} ${late}`,
    );
  const near = name === undefined ? null : nearest(name, names);
  const problem = name === undefined ? 'a verb is missing' : `there is no "divan ${command} ${name}"`;
  if (near !== null) throw new UsageError(`${problem}; did you mean "divan ${command} ${near}"?`);
  throw new UsageError(
    `${problem}; ${names.length === 1 ? 'the only one is' : 'the verbs are'} ${names.join(', ')}`,
  );
}
