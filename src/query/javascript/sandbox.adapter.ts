// The sandbox of functions in JavaScript: QuickJS, compiled to WebAssembly. Its code has no access to anything outside of its memory:
// there are no modules, no input and output, no timers. Only this file uses the library.
import {
  newQuickJSWASMModuleFromVariant,
  newVariant,
  type QuickJSContext,
  type QuickJSHandle,
  type QuickJSRuntime,
  type QuickJSSyncVariant,
  type QuickJSWASMModule,
} from 'quickjs-emscripten-core';
import {
  type JavaScriptJob,
  type JavaScriptReply,
  javaScriptLimits,
  type LibraryCode,
  type RefusalType,
} from './javascript-messages.ts';
import { prelude } from './prelude.ts';

type Call = Extract<JavaScriptJob, { kind: 'call' }>;

/** A library that runs: its global variables last until the next call with another library. */
interface Session {
  readonly runtime: QuickJSRuntime;
  readonly context: QuickJSContext;
  readonly invoke: QuickJSHandle;
}

/** Node's types lack this global object; only the member that is used here. */
declare const WebAssembly: { Memory: new (pages: { initial: number; maximum: number }) => object };

/**
 * Pages of 64 KiB for the engine, its stack and the code. `maximum` is twice the limit of the code's memory, because growing strings
 * fragment the memory.
 */
const enginePages = { initial: 256, maximum: (javaScriptLimits.memoryBytes >> 16) * 2 };

export class Sandbox {
  private readonly engine: QuickJSWASMModule;
  private readonly isInterrupted: () => boolean;
  private session: Session | null = null;

  private constructor(engine: QuickJSWASMModule, isInterrupted: () => boolean) {
    this.engine = engine;
    this.isInterrupted = isInterrupted;
  }

  /** The engine calls `isInterrupted` repeatedly while code runs. */
  static async load(isInterrupted: () => boolean): Promise<Sandbox> {
    // The types describe the CommonJS form of the module, in which the variant is one level deeper.
    const variant = (await import('@jitl/quickjs-wasmfile-release-sync'))
      .default as unknown as QuickJSSyncVariant;
    const wasmMemory = new WebAssembly.Memory(enginePages);
    const engine = await newQuickJSWASMModuleFromVariant(newVariant(variant, { wasmMemory }));
    return new Sandbox(engine, isInterrupted);
  }

  run(job: JavaScriptJob): JavaScriptReply {
    try {
      return job.kind === 'check' ? this.check(job.library) : this.call(job);
    } catch (error) {
      // The engine itself failed, for example at the end of the thread's stack: its memory may be inconsistent.
      return { kind: 'broken', reason: String(error) };
    }
  }

  private check({ file, code }: LibraryCode): JavaScriptReply {
    this.endSession();
    const runtime = this.newRuntime();
    const context = runtime.newContext();
    const result = context.evalCode(code, file, { compileOnly: true });
    const reply: JavaScriptReply = result.error ? this.failure(context, result.error) : { kind: 'checked' };
    (result.error ?? result.value).dispose();
    context.dispose();
    runtime.dispose();
    return reply;
  }

  private call({ library, name, arguments: values, undefinedAt }: Call): JavaScriptReply {
    const failure = library === null ? null : this.begin(library);
    const reply = failure ?? this.invoke(name, values, JSON.stringify(undefinedAt));
    // After a failure the library may be in any state, or memory may be used up.
    if (reply.kind !== 'returned') this.endSession();
    return reply;
  }

  /** Runs the top level of the library in a context of its own. */
  private begin({ file, code }: LibraryCode): JavaScriptReply | null {
    this.endSession();
    const runtime = this.newRuntime();
    const context = runtime.newContext();
    const invoke = context.unwrapResult(context.evalCode(prelude, 'prelude.js', { backtraceBarrier: true }));
    this.session = { runtime, context, invoke };
    const loaded = context.evalCode(code, file, { backtraceBarrier: true });
    const failure = loaded.error ? this.failure(context, loaded.error) : null;
    (loaded.error ?? loaded.value).dispose();
    return failure;
  }

  private newRuntime(): QuickJSRuntime {
    const runtime = this.engine.newRuntime();
    runtime.setMemoryLimit(javaScriptLimits.memoryBytes);
    runtime.setMaxStackSize(javaScriptLimits.stackBytes);
    runtime.setInterruptHandler(() => this.isInterrupted());
    return runtime;
  }

  private invoke(...texts: readonly string[]): JavaScriptReply {
    if (this.session === null) throw new Error('a call without a library');
    const { context, invoke } = this.session;
    const handles = texts.map((text) => context.newString(text));
    const result = context.callFunction(invoke, context.undefined, handles);
    for (const handle of handles) handle.dispose();
    const reply = result.error ? this.failure(context, result.error) : this.answer(context, result.value);
    (result.error ?? result.value).dispose();
    return reply;
  }

  private answer(context: QuickJSContext, result: QuickJSHandle): JavaScriptReply {
    const length = context.getProp(result, 'length').consume((handle) => context.getNumber(handle));
    const { resultLength } = javaScriptLimits;
    if (length > resultLength)
      return refused(
        'Limit exceeded',
        `the result must have at most ${resultLength} characters as JSON text`,
      );
    const text = context.getString(result);
    if (text.startsWith('{"value"') || text === '{}') return { kind: 'returned', text };
    // The text is `null` if the library defines a toJSON() for all objects that returns null.
    const { absent, promise, thrown, stack } = (JSON.parse(text) ?? {}) as Description;
    if (absent)
      return refused('Library or function missing', 'the library has no such function at its top level');
    if (promise) return refused('Not supported', 'asynchronous functions (async, Promise)');
    return { kind: 'thrown', exception: JSON.stringify(thrown ?? null), stack: stack ?? null };
  }

  /** What the engine threw outside of a function: a syntax error, the end of memory, an interruption. */
  private failure(context: QuickJSContext, error: QuickJSHandle): JavaScriptReply {
    if (this.isInterrupted()) return { kind: 'interrupted' };
    const textOf = (name: string): string =>
      context.getProp(error, name).consume((handle) => {
        return context.typeof(handle) === 'string' ? context.getString(handle) : '';
      });
    const [name, message, stack] = [textOf('name'), textOf('message'), textOf('stack')];
    const text = name === '' ? 'the library threw a value that is no Error' : `${name}: ${message}`;
    return { kind: 'thrown', exception: JSON.stringify(text), stack };
  }

  private endSession(): void {
    const { session } = this;
    this.session = null;
    session?.invoke.dispose();
    session?.context.dispose();
    session?.runtime.dispose();
  }
}

interface Description {
  readonly absent?: true;
  readonly promise?: true;
  readonly thrown?: unknown;
  readonly stack?: string;
}

const refused = (type: RefusalType, reason: string): JavaScriptReply => ({ kind: 'refused', reason, type });
