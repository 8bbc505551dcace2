// `divan query`: runs statements from the command line, a file, a pipe or a prompt.
import { readFileSync } from 'node:fs';
import { createInterface, type Interface } from 'node:readline';
import { statementMax } from '#sqlpp/text/parser.ts';
import { authorityOf, passwordOf } from '../connection-options.ts';
import { UsageError } from '../options.ts';
import { type QueryOptions, queryOptions } from '../query-options.ts';
import { RemoteNode } from '../remote/remote-node.ts';
import { splitWords } from '../split-words.ts';
import { planSentences } from './plan-sentences.ts';
import { queryUrl } from './query-address.ts';
import {
  NoQueryServiceError,
  type QueryAnswer,
  QueryError,
  type QueryNotice,
  type QueryTarget,
  sendStatement,
} from './query-client.ts';
import { jsonLines, printable, table } from './rows-text.ts';
import { StatementReader } from './statement-reader.ts';

const historyMax = 1_000;
const help =
  'Statements end with ; and may have several lines. \\timing switches times on and off, \\quit ends.\n';

export async function runQuery(args: readonly string[]): Promise<void> {
  const { words, options } = splitWords(args, queryOptions);
  if (words.length > 1) throw new UsageError('more than one statement is given; put a statement in quotes');
  const statement = words[0] ?? null;
  if (statement !== null && options.file !== undefined)
    throw new UsageError('a statement and --file are given; give one of them');
  const reads = statement === null && options.file === undefined;
  if (reads && options['password-file'] === '-')
    throw new UsageError('--password-file: standard input has the statements; give a file or DIVAN_PASSWORD');
  const shell = new Shell(options, passwordOf(options));
  if (statement !== null) return shell.runAll(statement);
  if (options.file !== undefined) return shell.runAll(textOf(options.file));
  return shell.read();
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new UsageError(`--file: cannot read ${path}: ${(error as Error).message}`);
  }
}

class Shell {
  private readonly options: QueryOptions;
  private target: QueryTarget;
  private readonly reader = new StatementReader();
  private isTiming = false;
  private running: AbortController | null = null;

  constructor(options: QueryOptions, password: string) {
    this.options = options;
    const { url, username } = options;
    this.target = { url, username, password, authority: authorityOf(options) };
  }

  /** Ends with the first statement that fails. */
  async runAll(text: string): Promise<void> {
    for (const statement of [...this.reader.add(text), ...this.reader.end()]) await this.run(statement);
  }

  /** Runs statements of standard input. A terminal has a prompt and history, and the session continues after errors. */
  async read(): Promise<void> {
    const isTerminal = process.stdin.isTTY === true && process.stdout.isTTY === true;
    const lines = createInterface({
      input: process.stdin,
      ...(isTerminal && { output: process.stdout, historySize: historyMax }),
      terminal: isTerminal,
    });
    const prompt = (): void => {
      if (!isTerminal) return;
      lines.setPrompt(this.reader.isPending ? '   ...> ' : 'divan> ');
      lines.prompt();
    };
    if (isTerminal) process.stdout.write(help);
    this.followInterrupts(lines, prompt);
    prompt();
    for await (const line of lines) {
      if (!(await this.handleLine(line, isTerminal))) break;
      prompt();
    }
    lines.close();
    if (!isTerminal) for (const statement of this.reader.end()) await this.run(statement);
  }

  /** Ctrl-C stops the running statement, or discards the input. */
  private followInterrupts(lines: Interface, prompt: () => void): void {
    lines.on('SIGINT', () => {
      if (this.running !== null) return this.running.abort();
      this.reader.clear();
      lines.write(null, { ctrl: true, name: 'u' });
      process.stdout.write('\n');
      prompt();
    });
  }

  /** Returns false to read no further line. */
  private async handleLine(line: string, isTerminal: boolean): Promise<boolean> {
    if (!this.reader.isPending && line.startsWith('\\')) return this.command(line.trim());
    try {
      if (this.reader.length + line.length > statementMax) {
        this.reader.clear();
        throw new QueryError(`a statement has at most ${statementMax} characters`);
      }
      for (const statement of this.reader.add(`${line}\n`)) await this.run(statement);
    } catch (error) {
      if (!isTerminal || !(error instanceof QueryError)) throw error;
      process.stderr.write(`${error.message}\n`);
    }
    return true;
  }

  private command(name: string): boolean {
    if (name === '\\quit') return false;
    if (name === '\\timing') {
      this.isTiming = !this.isTiming;
      process.stderr.write(`timing is ${this.isTiming ? 'on' : 'off'}\n`);
    } else process.stderr.write(help);
    return true;
  }

  /** If the address is that of the REST API, the statement goes to the query service that the API names. */
  private async send(text: string, signal: AbortSignal): Promise<QueryAnswer> {
    const { timeout: timeoutSeconds } = this.options;
    try {
      return await sendStatement(this.target, text, { signal, timeoutSeconds });
    } catch (error) {
      if (!(error instanceof NoQueryServiceError)) throw error;
      const url = await this.findService().catch(() => this.target.url);
      if (url === null) throw new QueryError('--url: no node of this cluster runs the query service');
      if (url === this.target.url) throw error;
      this.target = { ...this.target, url };
      return await sendStatement(this.target, text, { signal, timeoutSeconds });
    }
  }

  private async findService(): Promise<string | null> {
    const { ca } = this.options;
    return await queryUrl(new RemoteNode({ ...this.target, ca, 'password-file': undefined }));
  }

  private async run(statement: string): Promise<void> {
    const { explain, json } = this.options;
    this.running = new AbortController();
    try {
      const text = explain ? `EXPLAIN ${statement}` : statement;
      const answer = await this.send(text, this.running.signal);
      const { results = [], errors = [], warnings = [], metrics = {} } = answer;
      for (const warning of warnings) process.stderr.write(`warning ${notice(warning)}\n`);
      const isChange = results.length === 0 && metrics.mutationCount !== undefined;
      if (json) process.stdout.write(jsonLines(results));
      else if (explain) process.stdout.write(results.map(planText).join(''));
      else if (isChange) process.stdout.write(`(${metrics.mutationCount} changed)\n`);
      else if (errors.length === 0 || results.length > 0) process.stdout.write(table(results));
      if (this.isTiming) process.stderr.write(`time: ${metrics.elapsedTime ?? 'unknown'}\n`);
      if (answer.status !== 'success' || errors.length > 0)
        throw new QueryError(
          errors.map(notice).join('\n') || `the statement ended with status ${answer.status}`,
        );
    } finally {
      this.running = null;
    }
  }
}

/** Sentences for people, then the plan itself. */
function planText(row: unknown): string {
  const lines = planSentences((row as { plan?: unknown } | null)?.plan).map((line) => `${printable(line)}\n`);
  return `${lines.join('')}${lines.length > 0 ? '\n' : ''}${JSON.stringify(row, null, 2)}\n`;
}

const notice = ({ code, msg }: QueryNotice): string => `${code}: ${printable(msg)}`;
