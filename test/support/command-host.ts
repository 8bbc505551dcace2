// Runs commands of `divan` one after the other in one process: starting a process and loading the code takes most of the time of a command.
// As in a process of its own, a command ends once nothing is left that would keep the process running.
import type { EventEmitter } from 'node:events';

export interface HostedRun {
  readonly args: readonly string[];
  readonly environment: NodeJS.ProcessEnv;
}

export interface HostedEnd {
  readonly status: number;
  readonly out: string;
  readonly error: string;
  /** The command left timers or handles open, which the end of a process would close: this process must run no other command. */
  readonly isLast: boolean;
}

/** Thrown by the `process.exit` of a command, so that the command does not continue. */
class Exit extends Error {}

const emitters: readonly EventEmitter[] = [process, process.stdout, process.stderr];
const at = (path: string): URL => new URL(`../../${path}`, import.meta.url);
const pauseMs = 2;
/** How many pauses the timers and handles of a command get to end by themselves after its exit. */
const roundsAfterExit = 20;
let runs = 0;
let entry = '../../built/node/divan.js';
const { codeFolder } = (await import(at('bin/code-folder.js').href)) as { codeFolder(): string };
if (codeFolder() === 'src') {
  const { registerModuleResolver } = await import('../../src/ports/own-modules.ts');
  registerModuleResolver();
  entry = '../../src/main/divan.ts';
}
process.on('disconnect', () => process.exit());
process.on('message', async (run: HostedRun) => {
  const end = await runCommand(run);
  process.send?.(end, undefined, {}, () => end.isLast && process.kill(process.pid, 'SIGKILL'));
});

async function runCommand({ args, environment }: HostedRun): Promise<HostedEnd> {
  process.argv = [process.execPath, at('bin/divan.js').pathname, ...args];
  process.env = environment;
  process.exitCode = undefined;
  const kept = running();
  const listeners = emitters.map(listenersOf);
  const [out, error] = [captured(process.stdout), captured(process.stderr)];
  const exited = Promise.withResolvers<number>();
  const exit = process.exit;
  process.exit = (code) => {
    exited.resolve(Number(code ?? process.exitCode ?? 0));
    out.end();
    error.end();
    throw new Exit();
  };
  // Each import under a new name loads the entry again, which runs the command; the modules that the entry imports stay loaded.
  const returned = import(`${entry}?${++runs}`).then(
    async () => {
      while (running() > kept) await pause();
      return Number(process.exitCode ?? 0);
    },
    (reason: Error) => {
      if (reason instanceof Exit) return exited.promise;
      throw reason;
    },
  );
  const status = await Promise.race([exited.promise, returned]);
  const texts = { out: out.end(), error: error.end() };
  for (let rounds = 0; running() > kept && rounds < roundsAfterExit; rounds++) await pause();
  for (const [index, emitter] of emitters.entries()) removeAddedListeners(emitter, listeners[index], status);
  for (const stream of [out, error]) stream.release();
  process.exit = exit;
  return { status, ...texts, isLast: running() > kept };
}

/** The number of resources that keep a process running. */
const running = (): number => process.getActiveResourcesInfo().length;

const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, pauseMs).unref());

interface Captured {
  /** The text that was written until the first call; what the command writes later, after its exit, is left out. */
  end(): string;
  release(): void;
}

function captured(stream: NodeJS.WriteStream): Captured {
  const { write } = stream;
  const chunks: Uint8Array[] = [];
  let text: string | undefined;
  stream.write = (chunk: string | Uint8Array, ...more: unknown[]) => {
    // A copy: the command may use the bytes again.
    chunks.push(Buffer.from(chunk as Uint8Array));
    const written = more.at(-1);
    if (typeof written === 'function') process.nextTick(written as () => void);
    return true;
  };
  return {
    end: () => (text ??= Buffer.concat(chunks).toString()),
    release: () => {
      stream.write = write;
    },
  };
}

type Listeners = ReadonlyMap<string | symbol, readonly unknown[]>;

const listenersOf = (emitter: EventEmitter): Listeners =>
  new Map(emitter.eventNames().map((name) => [name, emitter.listeners(name)]));

/** Removes the listeners that the command added, and calls those that wait for its exit. */
function removeAddedListeners(emitter: EventEmitter, before: Listeners | undefined, status: number): void {
  for (const name of emitter.eventNames()) {
    const earlier = before?.get(name) ?? [];
    for (const listener of emitter.listeners(name)) {
      if (earlier.includes(listener)) continue;
      emitter.off(name, listener as () => void);
      if (emitter === process && name === 'exit') listener.call(process, status);
    }
  }
}
