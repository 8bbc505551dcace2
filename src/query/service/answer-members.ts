// The members `signature`, `metrics` and `controls` of an answer.
import type { Outcome } from '#sqlpp/run/engine.ts';
import type { Value } from '#sqlpp/values/value.ts';
import { durationText } from '../request/duration.ts';
import type { QueryRequest } from '../request/query-request.ts';
import type { Engine } from '../state/engine-port.ts';

interface MetricsInput {
  readonly nowMs: number;
  readonly receivedMs: number;
  /** When the execution began; 0: the request never ran. */
  readonly executionStartMs: number;
  readonly rows: number;
  readonly bytes: number;
  /** The number of active requests. */
  readonly load: number;
  readonly errors: number;
  readonly warnings: number;
  readonly outcome: Outcome | undefined;
  /** Times of the request's transaction. */
  readonly transactionTimes: object | undefined;
}

/** Omits the zeros that published servers omit. */
export function metricsText(input: MetricsInput): string {
  const {
    nowMs,
    receivedMs,
    executionStartMs,
    rows,
    bytes,
    load,
    errors,
    warnings,
    outcome,
    transactionTimes,
  } = input;
  const { mutations = 0, sorted = 0, usedBytes = 0 } = outcome ?? {};
  // Concatenated, because it is part of every answer and JSON.stringify takes several times as long.
  let text = `{"elapsedTime":"${durationText(nowMs - receivedMs)}"`;
  text += `,"executionTime":"${durationText(executionStartMs === 0 ? 0 : nowMs - executionStartMs)}"`;
  text += `,"resultCount":${rows},"resultSize":${bytes},"serviceLoad":${load}`;
  if (usedBytes > 0) text += `,"usedMemory":${usedBytes}`;
  if (mutations > 0) text += `,"mutationCount":${mutations}`;
  if (sorted > 0) text += `,"sortCount":${sorted}`;
  if (transactionTimes !== undefined)
    for (const [name, value] of Object.entries(transactionTimes))
      text += `,"${name}":${JSON.stringify(value)}`;
  if (errors > 0) text += `,"errorCount":${errors}`;
  if (warnings > 0) text += `,"warningCount":${warnings}`;
  return `${text}}`;
}

export function controlsText({ consistency, timeoutMs }: QueryRequest): string {
  return JSON.stringify({
    scan_consistency: consistency,
    ...(timeoutMs > 0 && { timeout: durationText(timeoutMs) }),
  });
}

const signatureTexts = new WeakMap<object, string>();

/** Cached: a prepared statement has the same signature in each answer. */
export function signatureText(engine: Engine, signature: Value): string {
  if (signature === undefined) return 'null';
  if (typeof signature !== 'object' || signature === null) return engine.textOf(signature);
  const known = signatureTexts.get(signature);
  if (known !== undefined) return known;
  const text = engine.textOf(signature);
  signatureTexts.set(signature, text);
  return text;
}

/** Failed rows do not fail the request, unless their code has a status other than 500. */
export const statusWithFailedRows = (status: number): number => (status === 500 ? 200 : status);
